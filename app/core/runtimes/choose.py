"""Which recipe a repository needs: Hugo, a Node generator, Jekyll, MkDocs or plain files, in that order."""

import posixpath
from collections.abc import Callable, Collection
from functools import partial

from app.core.runtimes import node
from app.core.runtimes.recipe import HOST, PORT, Address, Recipe

Read = Callable[[str], bytes | None]

HUGO = tuple(f"{name}.{ending}" for name in ("hugo", "config") for ending in ("toml", "yaml", "yml", "json"))
HUGO_FOLDERS = ("content/", "archetypes/", "layouts/", "themes/", "config/_default/")
PLAIN_FOLDERS = ("", "public/", "docs/", "site/", "dist/", "_site/", "build/", "src/")
MARKS = ("hugo.toml", "hugo.yaml", "package.json", "_config.yml", "mkdocs.yml", "index.html")


class NoRuntime(Exception):
    """Nothing in the repository tells how to serve it."""


def choose(paths: Collection[str], read: Read, address: Address) -> Recipe:
    """Find how a repository is served, looking into its root and then into the nearest folders that say something.

    `read` gives a path's bytes, or None; it is asked for a few small files.

    Raises:
        NoRuntime: there is neither a generator nor a page.
    """
    known = frozenset(paths)
    for folder in _folders(known):
        below = frozenset(path[len(folder) :] for path in known if path.startswith(folder))
        found = _built(below, partial(_read_below, read, folder), folder, address)
        if found is not None:
            return found
    for folder in PLAIN_FOLDERS:
        if f"{folder}index.html" in known:
            return static(folder)
    raise NoRuntime


def static(folder: str = "") -> Recipe:
    """Serve files as they are, `index.html` for a folder."""
    return Recipe(("python3", "-m", "http.server", PORT, "--bind", HOST), folder=folder.rstrip("/"))


def _read_below(read: Read, folder: str, path: str) -> bytes | None:
    return read(folder + path)


def _folders(paths: frozenset[str]) -> list[str]:
    telling = {posixpath.dirname(path) + "/" for path in paths if "/" in path and posixpath.basename(path) in MARKS}
    near = [folder for folder in telling if folder.count("/") <= 2 and "node_modules/" not in folder]
    return ["", *sorted(near, key=lambda folder: (folder.count("/"), folder))[:8]]


def _built(paths: frozenset[str], read: Read, folder: str, address: Address) -> Recipe | None:
    place = folder.rstrip("/")
    if any(name in paths for name in HUGO[:4]) or (
        any(name in paths for name in HUGO[4:]) and any(path.startswith(HUGO_FOLDERS) for path in paths)
    ):
        return _hugo(place, address)
    if "package.json" in paths:
        found = node.recipe(paths, read, place)
        if found is not None:
            return found
    if "mkdocs.yml" in paths:
        return _mkdocs(paths, place)
    if "_config.yml" in paths and ("Gemfile" in paths or "index.html" not in paths):
        return _jekyll(paths, place)
    return None


def _hugo(folder: str, address: Address) -> Recipe:
    serve = ("hugo", "server", "--bind", HOST, "--port", PORT, "--baseURL", address.url, "--appendPort=false")
    reloading = ("--liveReloadPort", str(address.port), "--buildDrafts", "--buildFuture", "--noHTTPCache")
    return Recipe((*serve, *reloading), folder=folder, tools=("hugo",))


def _jekyll(paths: frozenset[str], folder: str) -> Recipe:
    serve = ("jekyll", "serve", "--host", HOST, "--port", PORT, "--drafts", "--future")
    if "Gemfile" not in paths:
        return Recipe(serve, folder=folder, tools=("jekyll",))
    return Recipe(
        ("bundle", "exec", *serve),
        install=(("bundle", "install"),),
        environment={"BUNDLE_PATH": "/tmp/gems", "BUNDLE_APP_CONFIG": "/tmp/bundle"},  # noqa: S108 (the jail's own)
        folder=folder,
        tools=("bundle",),
    )


def _mkdocs(paths: frozenset[str], folder: str) -> Recipe:
    wanted = ("-r", "requirements.txt") if "requirements.txt" in paths else ("mkdocs",)
    place = "/tmp/mkdocs"  # noqa: S108 (the jail's own)
    return Recipe(
        ("python3", "-m", "mkdocs", "serve", "--dev-addr", f"{HOST}:{PORT}"),
        install=(("python3", "-m", "pip", "install", "--no-input", "--target", place, *wanted),),
        environment={"PYTHONPATH": place},
        folder=folder,
        tools=("pip",),
    )
