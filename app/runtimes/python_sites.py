"""Recipes of MkDocs and Sphinx sites: requirements of the repository, or the themes and plugins that they configure."""

import hashlib
import re
from collections.abc import Callable, Collection
from typing import Any

from app.content.front_matter.toml_reader import read_toml
from app.runtimes.python_packages import SPHINX_THEMES, THEME_PACKAGES, mkdocs_packages, sphinx_packages
from app.runtimes.recipe import HOST, PORT, Recipe

Read = Callable[[str], bytes | None]

TARGET = "/tmp/python"  # noqa: S108 (inside the jail)
REQUIREMENT_FILES = ("docs/requirements.txt", "doc/requirements.txt", "requirements.txt")
REQUIREMENT_NAME = re.compile(r"(?:docs/|doc/)?requirements[\w.-]*\.txt")
PREFERRED = ("doc", "mkdocs", "sphinx")
GROUPS = ("docs", "doc", "documentation", "mkdocs", "sphinx")
RELOAD_SCRIPT = (
    "<script>new WebSocket(`${location.protocol.replace('http', 'ws')}//${location.host}/websocket-reload`)"
    ".onmessage = () => location.reload()</script>"
)
SPHINX_SERVER = f"""\
import importlib.util as util
if util.find_spec("sphinx_autobuild.middleware"):
    from sphinx_autobuild import middleware
    middleware.web_socket_script = lambda address: {RELOAD_SCRIPT!r}
from sphinx_autobuild.__main__ import main
main()
"""
"""sphinx-autobuild with a reload script for the address of the preview.

Its own script connects to the address in the jail.
"""

_GENERATOR_PACKAGES = {
    "mkdocs": {"mkdocs", *THEME_PACKAGES.values()},
    "sphinx": {"sphinx", *SPHINX_THEMES.values()},
}
"""Packages that mark a list of requirements as the one of the site."""


def mkdocs(paths: Collection[str], read: Read, folder: str) -> Recipe:
    """Return the recipe of a folder with `mkdocs.yml`."""
    # With Click 8.3.0, MkDocs does not watch the files unless the option is given.
    serve = ("python3", "-m", "mkdocs", "serve", "--livereload", "--dev-addr", f"{HOST}:{PORT}")
    return _recipe(serve, ["mkdocs", *mkdocs_packages(read("mkdocs.yml"))], paths, read, folder, own="mkdocs")


def sphinx(source: str, paths: Collection[str], read: Read, folder: str) -> Recipe:
    """Return the recipe of a folder whose Sphinx sources are below `source`."""
    options = ("--host", HOST, "--port", PORT, source.rstrip("/") or ".", "/tmp/html")  # noqa: S108 (inside the jail)
    packages = ["sphinx", "sphinx-autobuild", *sphinx_packages(read(f"{source}conf.py"))]
    return _recipe(("python3", "-c", SPHINX_SERVER, *options), packages, paths, read, folder, own="sphinx")


def _recipe(
    serve: tuple[str, ...], packages: list[str], paths: Collection[str], read: Read, folder: str, *, own: str
) -> Recipe:
    listed = _requirements(paths, read, own)
    # Packages of the configuration are installed as well: a list for the application often lacks the generator.
    arguments = [*listed, *(packages if not _names(listed, read, own) else packages[: 2 if own == "sphinx" else 1])]
    manifest = b"\0".join(
        [" ".join(arguments).encode(), *(read(name) or b"" for name in listed if name.endswith(".txt"))]
    )
    return Recipe(
        serve,
        install=(
            (
                "python3",
                "-m",
                "pip",
                "install",
                "--no-input",
                "--disable-pip-version-check",
                "--target",
                TARGET,
                *arguments,
            ),
        ),
        environment={"PYTHONPATH": TARGET, "PYTHONDONTWRITEBYTECODE": "1"},
        folder=folder,
        tools=("pip",),
        dependencies=hashlib.sha256(manifest).hexdigest(),
        dependency_folder=TARGET,
    )


def _requirements(paths: Collection[str], read: Read, own: str) -> list[str]:
    """Return pip arguments for the requirements of the repository: requirement files, else groups of pyproject.toml."""
    files = [name for name in REQUIREMENT_FILES if name in paths]
    files += sorted(path for path in paths if REQUIREMENT_NAME.fullmatch(path) and any(w in path for w in PREFERRED))
    chosen = [name for name in dict.fromkeys(files) if _mentions(read(name), own)] or files[:1]
    if chosen:
        return [part for name in dict.fromkeys(chosen) for part in ("-r", name)]
    return _project_dependencies(read("pyproject.toml"), own) if "pyproject.toml" in paths else []


def _mentions(content: bytes | None, own: str) -> bool:
    return content is not None and re.search(rb"(?im)^[ \t]*(" + own.encode() + rb"|furo|myst)", content) is not None


def _names(arguments: list[str], read: Read, own: str) -> bool:
    return any(_mentions(read(name), own) if name.endswith(".txt") else own in name for name in arguments)


def _project_dependencies(content: bytes | None, own: str) -> list[str]:
    try:
        document = read_toml((content or b"").decode())
    except (ValueError, RecursionError):
        return []
    groups = {
        **_mapping(_mapping(document.get("project")).get("optional-dependencies")),
        **_mapping(document.get("dependency-groups")),
    }
    candidates = [*(groups.get(name) for name in GROUPS), *groups.values()]
    candidates.append(_mapping(document.get("project")).get("dependencies"))
    for items in candidates:
        listed = items if isinstance(items, list) else []
        texts = [item for item in listed if isinstance(item, str) and not item.startswith("-")]
        if not _GENERATOR_PACKAGES[own].isdisjoint(map(_package_name, texts)):
            return texts
    return []


def _package_name(requirement: str) -> str:
    """Return the name of a requirement in the normalized form of PEP 503."""
    match = re.match(r"\s*([\w.-]+)", requirement)
    return re.sub(r"[-_.]+", "-", match[1]).lower() if match is not None else ""


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
