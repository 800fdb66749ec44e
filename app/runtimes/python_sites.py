"""Recipes of MkDocs and Sphinx sites: requirements of the repository, or the themes and plugins that they configure."""

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TypeGuard

import yaml
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from app.content.front_matter.yaml_reader import read_yaml
from app.runtimes.recipe import HOST, PORT, Read, Recipe, Version, mapping, toml_of

VERSION_FILES = (".python-version", "runtime.txt")
READ_THE_DOCS = (".readthedocs.yaml", ".readthedocs.yml", "readthedocs.yml")
MAX_CHARACTERS, MAX_YAML_BYTES, MAX_INCLUDED = 200, 16 * 1024, 3
_VERSION = re.compile(r"(?:c?python-)?(\d{1,2})(?:\.(\d{1,3}))?(?:\.\d{1,3})?")
BUILT_IN_PLUGINS = {
    "search",
    "meta",
    "tags",
    "blog",
    "social",
    "privacy",
    "offline",
    "group",
    "info",
    "optimize",
    "typeset",
    "projects",
}
# Packages whose name does not follow from the name of the plugin.
PLUGIN_PACKAGES = {
    "git-revision-date-localized": "mkdocs-git-revision-date-localized-plugin",
    "git-revision-date": "mkdocs-git-revision-date-plugin",
    "git-authors": "mkdocs-git-authors-plugin",
    "git-committers": "mkdocs-git-committers-plugin-2",
    "awesome-pages": "mkdocs-awesome-pages-plugin",
    "awesome-nav": "mkdocs-awesome-nav",
    "minify": "mkdocs-minify-plugin",
    "redirects": "mkdocs-redirects",
    "macros": "mkdocs-macros-plugin",
    "mkdocstrings": "mkdocstrings[python]",
    "gen-files": "mkdocs-gen-files",
    "literate-nav": "mkdocs-literate-nav",
    "section-index": "mkdocs-section-index",
    "monorepo": "mkdocs-monorepo-plugin",
    "include-markdown": "mkdocs-include-markdown-plugin",
    "glightbox": "mkdocs-glightbox",
    "mermaid2": "mkdocs-mermaid2-plugin",
    "rss": "mkdocs-rss-plugin",
    "exclude": "mkdocs-exclude",
    "table-reader": "mkdocs-table-reader-plugin",
    "autorefs": "mkdocs-autorefs",
    "swagger-ui-tag": "mkdocs-swagger-ui-tag",
    "mkdocs-jupyter": "mkdocs-jupyter",
}
BUILT_IN_THEMES = {"mkdocs", "readthedocs"}
THEME_PACKAGES = {"material": "mkdocs-material", "cinder": "mkdocs-cinder", "bootstrap": "mkdocs-bootstrap"}
EXTENSION_PACKAGES = {
    "pymdownx": "pymdown-extensions",
    "callouts": "markdown-callouts",
    "mdx_gh_links": "mdx-gh-links",
    "mkdocs-click": "mkdocs-click",
    "mdx_truly_sane_lists": "mdx-truly-sane-lists",
    "markdown_include": "markdown-include",
}
SPHINX_THEMES = {
    "sphinx_rtd_theme": "sphinx-rtd-theme",
    "furo": "furo",
    "pydata_sphinx_theme": "pydata-sphinx-theme",
    "sphinx_book_theme": "sphinx-book-theme",
    "sphinx_material": "sphinx-material",
    "press": "sphinx-press-theme",
    "shibuya": "shibuya",
    "sphinxawesome_theme": "sphinxawesome-theme",
}
SPHINX_EXTENSIONS = {
    "myst_parser": "myst-parser",
    "myst_nb": "myst-nb",
    "recommonmark": "recommonmark",
    "sphinx_copybutton": "sphinx-copybutton",
    "sphinx_design": "sphinx-design",
    "sphinx_tabs.tabs": "sphinx-tabs",
    "nbsphinx": "nbsphinx",
    "numpydoc": "numpydoc",
    "sphinx_autodoc_typehints": "sphinx-autodoc-typehints",
    "sphinxcontrib.mermaid": "sphinxcontrib-mermaid",
    "sphinx_rtd_theme": "sphinx-rtd-theme",
    "sphinxext.opengraph": "sphinxext-opengraph",
    "sphinx_inline_tabs": "sphinx-inline-tabs",
    "autoapi.extension": "sphinx-autoapi",
    "sphinx_click": "sphinx-click",
    "sphinx_gallery.gen_gallery": "sphinx-gallery",
}
MKDOCS_OUTPUT, SPHINX_OUTPUT, PELICAN_OUTPUT = "site", "_build/html", "output"
_ZENSICAL_EXTENSION = re.compile(rb"\bzensical\.extensions\b")
PELICAN_CONFIG = "pelicanconf.py"
TARGET = "/tmp/python"  # noqa: S108 (inside the jail)
REQUIREMENT_FILES = ("docs/requirements.txt", "doc/requirements.txt", "requirements.txt")
REQUIREMENT_NAME = re.compile(
    r"(?:docs/|doc/|requirements/)?(?:[\w.-]{0,60}requirements[\w.-]{0,60}|docs?|documentation|mkdocs|sphinx)\.(?:txt|in)"
)
PREFERRED = ("doc", "mkdocs", "sphinx", "zensical", "pelican", "site")
RELOAD_SCRIPT = (
    "<script>new WebSocket(`${location.protocol.replace('http', 'ws')}//${location.host}/websocket-reload`)"
    ".onmessage = () => location.reload()</script>"
)
SPHINX_SERVER = f"""\
import importlib.util as util, subprocess, sys
print("$ sphinx-autobuild", *sys.argv[1:], flush=True)
code = subprocess.call([sys.executable, "-m", "sphinx", "build", *sys.argv[-2:]])
if code:
    sys.exit(code)
if util.find_spec("sphinx_autobuild.middleware"):
    from sphinx_autobuild import middleware
    middleware.web_socket_script = lambda address: {RELOAD_SCRIPT!r}
from sphinx_autobuild.__main__ import main
main()
"""
"""sphinx-autobuild with a reload script for the address of the preview.

Its own script connects to the address in the jail, and it would serve an empty folder after a failed first build.
"""
BUILD_THEN_SERVE = """\
import os, subprocess, sys
at = sys.argv.index("--then")
build, serve = ([sys.executable, "-m", *arguments] for arguments in (sys.argv[1:at], sys.argv[at + 1 :]))
print("$", *build[2:], flush=True)
code = subprocess.call(build)
if code:
    sys.exit(code)
print("$", *serve[2:], flush=True)
os.execv(serve[0], serve)
"""
"""Build of a site, then its server. The servers answer before pages and styles are complete."""
_PIP = ("python3", "-m", "pip")
_PIP_INSTALL = ("install", "--no-input", "--disable-pip-version-check", "--target", TARGET)
INSTALL_PACKAGE = f"""\
import subprocess, sys
options, packages = sys.argv[1 : {len(_PIP_INSTALL) + 1}], sys.argv[{len(_PIP_INSTALL) + 1} :]
def install(*names):
    print("$ pip", *options, *names, flush=True)
    return subprocess.call([sys.executable, "-m", "pip", *options, *names])
if install(*packages, "."):
    status = install(*packages)
    if status:
        sys.exit(status)
    if install("."):
        print("The package of the repository could not be installed. Pages that import it can be incomplete.")
"""
"""Installs the packages and that of the repository in one run of pip.

In a second run, a release of it that another package needs would remain in the folder.
"""
_GENERATOR_PACKAGES = {
    "mkdocs": {"mkdocs", *THEME_PACKAGES.values()},
    "sphinx": {"sphinx", *SPHINX_THEMES.values()},
    "zensical": {"zensical"},
    "pelican": {"pelican"},
}
"""Packages that mark a list of requirements as the one of the site."""


def declared_range(read: Read) -> str | None:
    """Return the range that a folder declares, or None. A version selects its minor version."""
    for text in _versions(read):
        match = _VERSION.fullmatch(text.strip()[:MAX_CHARACTERS])
        if match is not None:
            return f"=={'.'.join(filter(None, match.groups()))}.*"
    requires = mapping(toml_of(read("pyproject.toml")).get("project")).get("requires-python")
    return requires if isinstance(requires, str) and len(requires) <= MAX_CHARACTERS else None


def is_satisfied(version: Version, declared: str) -> bool:
    """Return whether a version is in a range. Text that is not a range matches each version."""
    try:
        return SpecifierSet(declared).contains(".".join(map(str, version)), prereleases=True)
    except InvalidSpecifier:
        return True


def _versions(read: Read) -> Iterator[str]:
    for name in VERSION_FILES:
        yield (read(name) or b"").decode(errors="replace").strip().partition("\n")[0]
    content = next((content for content in map(read, READ_THE_DOCS) if content is not None), b"")
    version = mapping(mapping(_yaml(content).get("build")).get("tools")).get("python")
    yield version if isinstance(version, str) else ""


def _yaml(content: bytes) -> dict[str, object]:
    try:
        # Without types: YAML reads an unquoted 3.10 as the number 3.1.
        return mapping(yaml.load(content[:MAX_YAML_BYTES], yaml.BaseLoader))  # noqa: S506 (a loader of texts only)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}


def mkdocs_packages(content: bytes | None) -> list[str]:
    """Return the packages of the theme, plugins and extensions of `mkdocs.yml`."""
    config = mapping(_load(content))
    theme = config.get("theme")
    name = mapping(theme).get("name") if isinstance(theme, dict) else theme
    packages = [] if not _is_name(name) or name in BUILT_IN_THEMES else [THEME_PACKAGES.get(name, f"mkdocs-{name}")]
    for plugin in _items(config.get("plugins")):
        plugin_name = next(iter(plugin), None) if isinstance(plugin, dict) else plugin
        if _is_name(plugin_name) and plugin_name not in BUILT_IN_PLUGINS and "/" not in plugin_name:
            packages.append(PLUGIN_PACKAGES.get(plugin_name, f"mkdocs-{plugin_name.removeprefix('mkdocs-')}"))
    for extension in _items(config.get("markdown_extensions")):
        extension_name = next(iter(extension), None) if isinstance(extension, dict) else extension
        package = EXTENSION_PACKAGES.get(str(extension_name).partition(".")[0])
        packages += [package] if package is not None else []
    return list(dict.fromkeys(packages))


def sphinx_packages(content: bytes | None) -> list[str]:
    """Return the packages of the theme and extensions of `conf.py`, which is not executed."""
    config = (content or b"").decode(errors="replace")
    strings = re.findall(r"['\"]([\w.]+)['\"]", config)
    packages = [SPHINX_EXTENSIONS[name] for name in strings if name in SPHINX_EXTENSIONS]
    theme = re.search(r"(?m)^html_theme\s*=\s*['\"]([\w-]+)['\"]", config)
    if theme is not None and theme[1] in SPHINX_THEMES:
        packages.append(SPHINX_THEMES[theme[1]])
    return list(dict.fromkeys(packages))


def _is_name(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and re.fullmatch(r"[^\W\d][\w./-]{0,99}", value) is not None


def _load(content: bytes | None) -> object:
    try:
        return read_yaml((content or b"").decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}


def _items(value: object) -> list[object]:
    return list(value) if isinstance(value, list | dict) else []


def mkdocs(paths: Collection[str], read: Read, folder: str) -> Recipe:
    """Return the recipe of a folder with `mkdocs.yml`."""
    # With Click 8.3.0, MkDocs does not watch the files unless the option is given. In strict mode each warning would
    # end the preview, for example about an address that the sandbox cannot reach.
    serve = ("python3", "-m", "mkdocs", "serve", "--livereload", "--no-strict", "--dev-addr", f"{HOST}:{PORT}")
    recipe = _recipe(serve, ["mkdocs", *mkdocs_packages(read("mkdocs.yml"))], paths, read, folder, own="mkdocs")
    build = ("python3", "-m", "mkdocs", "build", "--no-strict", "--site-dir", MKDOCS_OUTPUT)
    return replace(recipe, build=build, output=MKDOCS_OUTPUT)


def is_zensical(paths: Collection[str], read: Read) -> bool:
    """Return whether a folder is a site of Zensical, which also reads `mkdocs.yml`."""
    if "zensical.toml" in paths:
        return True
    uses_extensions = _ZENSICAL_EXTENSION.search(read("mkdocs.yml") or b"") is not None
    return "mkdocs.yml" in paths and (uses_extensions or bool(_listed(paths, read, "zensical")))


def zensical(paths: Collection[str], read: Read, folder: str) -> Recipe:
    """Return the recipe of a site of Zensical."""
    server = ("zensical", "serve", "--dev-addr", f"{HOST}:{PORT}")
    serve = ("python3", "-c", BUILD_THEN_SERVE, "zensical", "build", "--then", *server)
    recipe = _recipe(serve, ["zensical"], paths, read, folder, own="zensical")
    return replace(recipe, build=("python3", "-m", "zensical", "build"), output=_zensical_output(read))


def _zensical_output(read: Read) -> str:
    project = mapping(toml_of(read("zensical.toml")).get("project"))
    folder = project.get("site_dir", mapping(_load(read("mkdocs.yml"))).get("site_dir"))
    return folder.strip("/") if isinstance(folder, str) else MKDOCS_OUTPUT


def pelican(paths: Collection[str], read: Read, folder: str) -> Recipe:
    """Return the recipe of a folder with `pelicanconf.py`. The published site has its own settings."""
    source = ("content",) if any(path.startswith("content/") for path in paths) else ()
    program = ("python3", "-m", "pelican", *source)
    options = (*source, "--settings", PELICAN_CONFIG, "--output", "/tmp/site")  # noqa: S108 (inside the jail)
    listening = ("--listen", "--autoreload", "--bind", HOST, "--port", PORT)
    server = ("pelican", *options, *listening)
    serve = ("python3", "-c", BUILD_THEN_SERVE, "pelican", *options, "--then", *server)
    settings = "publishconf.py" if "publishconf.py" in paths else PELICAN_CONFIG
    recipe = _recipe(serve, ["pelican[markdown]"], paths, read, folder, own="pelican")
    build = (*program, "--settings", settings, "--output", PELICAN_OUTPUT)
    return replace(recipe, build=build, output=PELICAN_OUTPUT)


def sphinx(source: str, paths: Collection[str], read: Read, folder: str) -> Recipe:
    """Return the recipe of a folder whose Sphinx sources are below `source`."""
    options = ("--host", HOST, "--port", PORT, source.rstrip("/") or ".", "/tmp/html")  # noqa: S108 (inside the jail)
    packages = ["sphinx", "sphinx-autobuild", *sphinx_packages(read(f"{source}conf.py"))]
    recipe = _recipe(("python3", "-c", SPHINX_SERVER, *options), packages, paths, read, folder, own="sphinx")
    # By default its cache, which differs in each build, is a folder of the output.
    cache = ("-d", "/tmp/doctrees")  # noqa: S108 (inside the jail)
    build = ("python3", "-m", "sphinx", "-b", "html", *cache, source.rstrip("/") or ".", SPHINX_OUTPUT)
    recipe = replace(recipe, build=build, output=SPHINX_OUTPUT)
    if "setup.py" not in paths and "project" not in toml_of(read("pyproject.toml")):
        return recipe
    # The pages of a Python package often import it.
    manifest = [f"{recipe.dependencies}\0{INSTALL_PACKAGE}".encode(), read("pyproject.toml") or b""]
    key = hashlib.sha256(b"\0".join(manifest)).hexdigest()
    install = ("python3", "-c", INSTALL_PACKAGE, *recipe.install[0][len(_PIP) :])
    return replace(recipe, install=(install,), dependencies=key)


def _recipe(
    serve: tuple[str, ...], packages: list[str], paths: Collection[str], read: Read, folder: str, *, own: str
) -> Recipe:
    listed = _requirements(paths, read, own)
    # Packages of the configuration are installed as well: a list for the application often lacks the generator.
    arguments = [*listed, *(packages if not _names(listed, read, own) else packages[: 2 if own == "sphinx" else 1])]
    manifest = b"\0".join(
        [" ".join(arguments).encode(), *(read(name) or b"" for name in listed if name.endswith((".txt", ".in")))]
    )
    return Recipe(
        serve,
        install=((*_PIP, *_PIP_INSTALL, *arguments),),
        environment={"PYTHONPATH": TARGET, "PYTHONDONTWRITEBYTECODE": "1"},
        folder=folder,
        tools=("pip",),
        dependencies=hashlib.sha256(manifest).hexdigest(),
        dependency_folder=TARGET,
    )


def _requirements(paths: Collection[str], read: Read, own: str) -> list[str]:
    """Return pip arguments for all requirements that name the generator, otherwise for the first requirement file."""
    return _listed(paths, read, own) or [part for name in _requirement_files(paths)[:1] for part in ("-r", name)]


def _requirement_files(paths: Collection[str]) -> list[str]:
    files = [name for name in REQUIREMENT_FILES if name in paths]
    files += sorted(path for path in paths if REQUIREMENT_NAME.fullmatch(path) and any(w in path for w in PREFERRED))
    return list(dict.fromkeys(files))


def _listed(paths: Collection[str], read: Read, own: str) -> list[str]:
    """Return pip arguments for the requirement files and the groups of pyproject.toml that name the generator."""
    files = [name for name in _requirement_files(paths) if _mentions(read(name), own)]
    compiled = {name.removesuffix(".txt") for name in files if name.endswith(".txt")}
    chosen = [name for name in files if not (name.endswith(".in") and name.removesuffix(".in") in compiled)]
    groups = _project_dependencies(read("pyproject.toml"), own) if "pyproject.toml" in paths else []
    return [*(part for name in chosen for part in ("-r", name)), *groups]


def _mentions(content: bytes | None, own: str) -> bool:
    names = own.encode() + (b"|furo|myst" if own == "sphinx" else b"")
    return content is not None and re.search(rb"(?im)^[ \t]*(" + names + rb")", content) is not None


def _names(arguments: list[str], read: Read, own: str) -> bool:
    return any(_mentions(read(name), own) if name.endswith((".txt", ".in")) else own in name for name in arguments)


def _project_dependencies(content: bytes | None, own: str) -> list[str]:
    document = toml_of(content)
    project, groups = mapping(document.get("project")), mapping(document.get("dependency-groups"))
    extras = mapping(project.get("optional-dependencies"))
    names = [*(_group(groups, name) for name in groups), *(_texts(items) for items in extras.values())]
    poetry = mapping(mapping(document.get("tool")).get("poetry"))
    sections = [poetry, *map(mapping, mapping(poetry.get("group")).values())]
    names += [[name for name in mapping(section.get("dependencies")) if name != "python"] for section in sections]
    chosen = [items for items in names if not _GENERATOR_PACKAGES[own].isdisjoint(map(_package_name, items))]
    if not chosen:
        texts = _texts(project.get("dependencies"))
        chosen = [texts] if not _GENERATOR_PACKAGES[own].isdisjoint(map(_package_name, texts)) else []
    return list(dict.fromkeys(text for items in chosen for text in items))


def _texts(items: object) -> list[str]:
    listed = items if isinstance(items, list) else []
    return [item for item in listed if isinstance(item, str) and not item.startswith("-")]


def _group(groups: Mapping[str, object], name: str, depth: int = 0) -> list[str]:
    """Return the requirements of a group of PEP 735, with those of the groups that it includes."""
    items = groups.get(name)
    included = [mapping(item).get("include-group") for item in items] if isinstance(items, list) else []
    nested = [_group(groups, str(other), depth + 1) for other in included if other and depth < MAX_INCLUDED]
    return [*_texts(items), *(text for texts in nested for text in texts)]


def _package_name(requirement: str) -> str:
    """Return the name of a requirement in the normalized form of PEP 503."""
    match = re.match(r"\s*([\w.-]+)", requirement)
    return re.sub(r"[-_.]+", "-", match[1]).lower() if match is not None else ""
