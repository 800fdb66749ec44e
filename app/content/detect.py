"""Detection of the site generator and the UI framework of a repository, by its folders and a few small files."""

import json
from collections.abc import Iterator
from typing import NamedTuple, Protocol

MAX_MANIFEST_BYTES = 1024 * 1024
_SCRIPTS = ("js", "mjs", "cjs", "ts", "mts", "cts")
# Configuration files of one generator, then packages that a project needs. The most specific entries come first.
_CONFIGS = {
    "astro": tuple(f"astro.config.{ending}" for ending in _SCRIPTS),
    "gatsby": tuple(f"gatsby-config.{ending}" for ending in _SCRIPTS),
    "nuxt": tuple(f"nuxt.config.{ending}" for ending in _SCRIPTS),
    "nextjs": tuple(f"next.config.{ending}" for ending in _SCRIPTS),
    "eleventy": (".eleventy.js", *(f"eleventy.config.{ending}" for ending in _SCRIPTS)),
    "docusaurus": tuple(f"docusaurus.config.{ending}" for ending in _SCRIPTS),
    "vitepress": (".vitepress/",),
    "mkdocs": ("mkdocs.yml", "mkdocs.yaml"),
}
_DEPENDENCIES = {
    "astro": ("astro",),
    "gatsby": ("gatsby",),
    "nuxt": ("nuxt", "nuxt3", "nuxt-edge"),
    "sveltekit": ("@sveltejs/kit",),
    "tanstack": ("@tanstack/react-start", "@tanstack/solid-start", "@tanstack/start"),
    "docusaurus": ("@docusaurus/core",),
    "vitepress": ("vitepress",),
    "nextjs": ("next",),
    "eleventy": ("@11ty/eleventy", "@11ty/eleventy-canary"),
    "hugo": ("hugo-bin", "hugo-extended"),
}
_FRAMEWORKS = {
    "preact": ("preact",),
    "react": ("react",),
    "vue": ("vue",),
    "svelte": ("svelte",),
    "solid": ("solid-js",),
    "qwik": ("@builder.io/qwik", "@qwik.dev/core"),
    "angular": ("@angular/core",),
    "lit": ("lit",),
    "alpine": ("alpinejs",),
}
_OWN_FRAMEWORK = {
    "nextjs": "react",
    "gatsby": "react",
    "docusaurus": "react",
    "nuxt": "vue",
    "vitepress": "vue",
    "sveltekit": "svelte",
}
_HUGO_CONFIGS = tuple(f"hugo.{ending}" for ending in ("toml", "yaml", "yml", "json"))
_OLD_HUGO_CONFIGS = tuple(f"config.{ending}" for ending in ("toml", "yaml", "yml", "json"))
_HUGO_FOLDERS = ("content/", "archetypes/", "layouts/", "themes/")
_JEKYLL_CONFIGS = ("_config.yml", "_config.yaml")
_JEKYLL_FOLDERS = ("_posts/", "_layouts/", "_includes/", "_sass/")
_SPHINX_PAGES = ("index.rst", "index.md", "index.txt", "_static/", "_templates/")
_VITE_CONFIGS = tuple(f"vite.config.{ending}" for ending in _SCRIPTS)

_READ_FILES = frozenset({"package.json", "Gemfile", *_OLD_HUGO_CONFIGS})
"""Files whose content is read. A change of the others matters only when they are created or deleted."""
_SITE_FILES = _READ_FILES.union(
    ("index.html", "conf.py", ".vitepress", "_default", *_HUGO_CONFIGS, *_JEKYLL_CONFIGS, *_VITE_CONFIGS),
    *_CONFIGS.values(),
)

_CONTAINERS = ("apps/", "packages/", "sites/")
"""Folders whose sub-folders are packages."""
_SITE_FOLDERS = ("site/", "website/", "web/", "www/", "docs/", "doc/", "documentation/", "app/", "frontend/", "source/")
"""Usual names of a site's folder in a repository that holds more than the site."""
_NO_SITES = ("node_modules/", "vendor/")
_MAX_FOLDERS = 4

_MARKS = {
    **{name: (files,) for name, files in _CONFIGS.items()},
    "vitepress": (tuple(f".vitepress/config.{ending}" for ending in _SCRIPTS),),
    "hugo": (
        (*_HUGO_CONFIGS, *(f"config/_default/{name}" for name in (*_HUGO_CONFIGS, *_OLD_HUGO_CONFIGS))),
        _OLD_HUGO_CONFIGS,
    ),
    "sveltekit": (tuple(f"svelte.config.{ending}" for ending in _SCRIPTS),),
    "jekyll": (_JEKYLL_CONFIGS,),
    "sphinx": (("conf.py",),),
    "vite": (_VITE_CONFIGS,),
    "tanstack": (_VITE_CONFIGS,),
}


def config_files(generator: str | None) -> tuple[tuple[str, ...], ...]:
    """Return the configuration files in the folder of a site, in groups, those of no other use first."""
    return _MARKS.get(generator or "", ())


def may_contain_site(folder: str) -> bool:
    """Return whether a folder is the root, one of its folders, or the folder of a package."""
    above, _, name = folder.rpartition("/")
    return not name.startswith((".", "_")) and (not above or f"{above}/" in (*_CONTAINERS, "docs/"))


def may_change_site(path: str, *, is_update: bool) -> bool:
    """Return whether the detection may have another result after a change of a file."""
    return not (_READ_FILES if is_update else _SITE_FILES).isdisjoint(path.split("/"))


class SiteFiles(Protocol):
    """The files of a repository. A reader may limit its calls. Beyond the limit, every file is absent."""

    def names(self, folder: str) -> frozenset[str]:
        """Return the names directly in a folder (`""` or `a/b/`); the names of sub-folders end in a slash."""

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a small file, or None."""


class DetectedSite(NamedTuple):
    """The names of a generator and a framework in the specification's spelling; None where unknown."""

    generator: str | None
    framework: str | None


def detect(files: SiteFiles) -> DetectedSite:
    """Detect generator and framework, in the root first, then in at most four folders that usually contain a site."""
    framework = None
    for folder in _folders(files):
        site = _detect_in(folder, files)
        if site.generator:
            return site
        framework = framework or site.framework
    return DetectedSite(None, framework)


def _folders(files: SiteFiles) -> Iterator[str]:
    yield ""
    pending = _subfolders("", files)
    for _ in range(_MAX_FOLDERS):
        if not pending:
            return
        folder, *pending = pending
        yield folder
        if folder in _CONTAINERS or folder == "docs/":
            pending = _subfolders(folder, files) + pending


def _subfolders(folder: str, files: SiteFiles) -> list[str]:
    """Return the sub-folders that may contain a site, the usual names first."""
    names = [name for name in files.names(folder) if name.endswith("/")]
    ranked = sorted(name for name in names if not name.startswith((".", "_")) and name not in _NO_SITES)
    usual = [*_SITE_FOLDERS, *_CONTAINERS]
    ranked.sort(key=lambda name: usual.index(name) if name in usual else len(usual))
    return [folder + name for name in ranked]


def _detect_in(folder: str, files: SiteFiles) -> DetectedSite:
    names = files.names(folder)
    dependencies = _dependencies(files.read(f"{folder}package.json")) if "package.json" in names else frozenset()
    generator = _generator(folder, names, dependencies, files)
    return DetectedSite(generator, _framework(generator, dependencies))


def _generator(folder: str, names: frozenset[str], dependencies: frozenset[str], files: SiteFiles) -> str | None:
    """Return the generator whose files are in the folder. A plain page is the last resort."""
    if _is_hugo(folder, names, files):
        return "hugo"
    for name, configs in _CONFIGS.items():
        if not names.isdisjoint(configs):
            return name
    for name, packages in _DEPENDENCIES.items():
        if not dependencies.isdisjoint(packages):
            return name
    if _is_jekyll(folder, names, files):
        return "jekyll"
    if "conf.py" in names and not names.isdisjoint(_SPHINX_PAGES):
        return "sphinx"
    if not names.isdisjoint(_VITE_CONFIGS) or ("vite" in dependencies and "index.html" in names):
        return "vite"
    return "static" if "index.html" in names and _framework(None, dependencies) is None else None


def _is_hugo(folder: str, names: frozenset[str], files: SiteFiles) -> bool:
    if not names.isdisjoint(_HUGO_CONFIGS):
        return True
    if "config/" in names and "_default/" in files.names(f"{folder}config/"):
        return True
    config = next((name for name in _OLD_HUGO_CONFIGS if name in names), None)
    if config is None or names.isdisjoint(_HUGO_FOLDERS):
        return False
    return b"baseurl" in _read_lower(files, folder + config)


def _is_jekyll(folder: str, names: frozenset[str], files: SiteFiles) -> bool:
    if names.isdisjoint(_JEKYLL_CONFIGS):
        return False
    if not names.isdisjoint(_JEKYLL_FOLDERS) or "package.json" not in names:
        return True
    gems = _read_lower(files, f"{folder}Gemfile") if "Gemfile" in names else b""
    return b"jekyll" in gems or b"github-pages" in gems


def _framework(generator: str | None, dependencies: frozenset[str]) -> str | None:
    """Return the framework of the generator, a framework among the dependencies, or the generator itself."""
    if generator in _OWN_FRAMEWORK:
        return _OWN_FRAMEWORK[generator]
    framework = next((name for name, packages in _FRAMEWORKS.items() if dependencies.intersection(packages)), None)
    return framework or generator


def _dependencies(manifest: bytes | None) -> frozenset[str]:
    """Return the names of all dependencies in a package.json; none if it cannot be read."""
    if manifest is None or len(manifest) > MAX_MANIFEST_BYTES:
        return frozenset()
    try:
        content: object = json.loads(manifest)
    except (ValueError, RecursionError):
        return frozenset()
    groups = (
        [content.get(key) for key in ("dependencies", "devDependencies", "peerDependencies")]
        if isinstance(content, dict)
        else []
    )
    return frozenset(name for group in groups if isinstance(group, dict) for name in group)


def _read_lower(files: SiteFiles, path: str) -> bytes:
    return (files.read(path) or b"")[:MAX_MANIFEST_BYTES].lower()
