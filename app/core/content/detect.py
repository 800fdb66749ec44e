"""Which site generator and UI framework a repository is built with, by its paths and a few small files."""

import json
import posixpath
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

Read = Callable[[str], bytes | None]

MAX_MANIFEST_BYTES = 1024 * 1024
_SCRIPTS = ("js", "mjs", "cjs", "ts", "mts", "cts")
# By the file that only this generator reads, then by what the project depends on; the more telling ones come first.
_CONFIGS = {
    "astro": tuple(f"astro.config.{ending}" for ending in _SCRIPTS),
    "gatsby": tuple(f"gatsby-config.{ending}" for ending in _SCRIPTS),
    "nuxt": tuple(f"nuxt.config.{ending}" for ending in _SCRIPTS),
    "nextjs": tuple(f"next.config.{ending}" for ending in _SCRIPTS),
    "eleventy": (".eleventy.js", *(f"eleventy.config.{ending}" for ending in _SCRIPTS)),
}
_DEPENDENCIES = {
    "astro": ("astro",),
    "gatsby": ("gatsby",),
    "nuxt": ("nuxt", "nuxt3", "nuxt-edge"),
    "sveltekit": ("@sveltejs/kit",),
    "tanstack": ("@tanstack/react-start", "@tanstack/solid-start", "@tanstack/start"),
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
_OWN_FRAMEWORK = {"nextjs": "react", "gatsby": "react", "nuxt": "vue", "sveltekit": "svelte"}
_HUGO_FOLDERS = ("content/", "archetypes/", "layouts/", "themes/")
_JEKYLL_FOLDERS = ("_posts/", "_layouts/", "_includes/", "_sass/")


class Detection(NamedTuple):
    """The specification's words; None where nothing tells."""

    generator: str | None
    framework: str | None


def detect(paths: Collection[str], read: Read) -> Detection:
    """Tell generator and framework of a repository, looked for in its root, then in the folder of each package.

    `read` gives a path's bytes, or None; it is asked for at most a dozen small files.
    """
    known = frozenset(paths)
    found = [_detect_below(folder, known, read) for folder in _roots(known)]
    return next((each for each in found if each.generator), None) or next(
        (each for each in found if each.framework), Detection(None, None)
    )


def _detect_below(folder: str, paths: frozenset[str], read: Read) -> Detection:
    below = {path.removeprefix(folder) for path in paths if path.startswith(folder)} if folder else paths

    def read_below(path: str) -> bytes | None:
        return read(folder + path)

    dependencies = _dependencies(read_below("package.json")) if "package.json" in below else frozenset()
    generator = _generator(below, dependencies, read_below)
    return Detection(generator, _framework(generator, dependencies))


def _roots(paths: frozenset[str]) -> list[str]:
    """The root, then folders with a manifest or configuration of their own, the nearest first."""
    telling = {"package.json", "hugo.toml", "_config.yml", *(name for names in _CONFIGS.values() for name in names)}
    folders = {posixpath.dirname(path) + "/" for path in paths if "/" in path and posixpath.basename(path) in telling}
    near = [folder for folder in folders if folder.count("/") <= 2 and "node_modules/" not in folder]
    return ["", *sorted(near, key=lambda folder: (folder.count("/"), folder))[:8]]


def _generator(paths: Collection[str], dependencies: frozenset[str], read: Read) -> str | None:
    """The generator whose own files lie here; a plain page is the last resort."""
    if _is_hugo(paths, read):
        return "hugo"
    for name, configs in _CONFIGS.items():
        if any(config in paths for config in configs):
            return name
    for name, packages in _DEPENDENCIES.items():
        if dependencies.intersection(packages):
            return name
    if _is_jekyll(paths, read):
        return "jekyll"
    return "static" if "index.html" in paths and _framework(None, dependencies) is None else None


def _is_hugo(paths: Collection[str], read: Read) -> bool:
    if any(f"hugo.{ending}" in paths for ending in ("toml", "yaml", "yml", "json")):
        return True
    if any(path.startswith("config/_default/") for path in paths):
        return True
    named = [f"config.{ending}" for ending in ("toml", "yaml", "yml", "json") if f"config.{ending}" in paths]
    return (
        bool(named) and any(path.startswith(_HUGO_FOLDERS) for path in paths) and b"baseurl" in _start(read, named[0])
    )


def _is_jekyll(paths: Collection[str], read: Read) -> bool:
    if "_config.yml" not in paths and "_config.yaml" not in paths:
        return False
    if any(path.startswith(_JEKYLL_FOLDERS) for path in paths) or "package.json" not in paths:
        return True
    return "Gemfile" in paths and (b"jekyll" in (gems := _start(read, "Gemfile")) or b"github-pages" in gems)


def _framework(generator: str | None, dependencies: frozenset[str]) -> str | None:
    """What the generator always builds with, what the project depends on, or the generator itself."""
    if generator in _OWN_FRAMEWORK:
        return _OWN_FRAMEWORK[generator]
    found = next((name for name, packages in _FRAMEWORKS.items() if dependencies.intersection(packages)), None)
    return found or generator


def _dependencies(manifest: bytes | None) -> frozenset[str]:
    """The names a package.json depends on in any way; none when it cannot be read."""
    if manifest is None or len(manifest) > MAX_MANIFEST_BYTES:
        return frozenset()
    try:
        found: Any = json.loads(manifest)
    except (ValueError, RecursionError):
        return frozenset()
    groups = (
        [found.get(key) for key in ("dependencies", "devDependencies", "peerDependencies")]
        if isinstance(found, dict)
        else []
    )
    return frozenset(name for group in groups if isinstance(group, dict) for name in group)


def _start(read: Read, path: str) -> bytes:
    return (read(path) or b"")[:MAX_MANIFEST_BYTES].lower()
