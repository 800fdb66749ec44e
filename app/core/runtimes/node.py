"""How a folder with a package.json is installed and served: package manager by lock file, server by what it depends on."""

import hashlib
import json
from collections.abc import Callable, Collection
from typing import Any

from app.core.runtimes.recipe import HOST, PORT, Recipe

Read = Callable[[str], bytes | None]

MAX_MANIFEST_BYTES = 1024 * 1024
# Lock files of another platform's npm are often short of optional packages; a preview is not the place to insist.
_NPM = ("sh", "-c", "npm ci --no-audit --no-fund || npm install --no-audit --no-fund")
MANAGERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("pnpm-lock.yaml", ("corepack", "pnpm", "install", "--frozen-lockfile")),
    ("yarn.lock", ("corepack", "yarn", "install", "--frozen-lockfile")),
    ("package-lock.json", _NPM),
    ("npm-shrinkwrap.json", _NPM),
)
WITHOUT_LOCK = ("npm", "install", "--no-audit", "--no-fund")
# The more telling ones come first: most of them bring Vite along.
SERVERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("astro", ("astro", "dev", "--host", HOST, "--port", PORT)),
    ("next", ("next", "dev", "-H", HOST, "-p", PORT)),
    ("nuxt", ("nuxt", "dev", "--host", HOST, "--port", PORT)),
    ("gatsby", ("gatsby", "develop", "-H", HOST, "-p", PORT)),
    ("@11ty/eleventy", ("eleventy", "--serve", f"--port={PORT}")),
    ("vite", ("vite", "dev", "--host", HOST, "--port", PORT, "--strictPort")),
)
SCRIPTS = ("dev", "start", "serve", "develop")


def recipe(paths: Collection[str], read: Read, folder: str) -> Recipe | None:
    """The recipe of a folder's package.json; None when it tells of no server."""
    manifest = read("package.json")
    found = _parsed(manifest)
    names = {name for key in ("dependencies", "devDependencies") for name in _mapping(found.get(key))}
    serve = next((command for name, command in SERVERS if name in names), None)
    if serve is None:
        script = next((name for name in SCRIPTS if name in _mapping(found.get("scripts"))), None)
        if script is None:
            return None
        serve = ("npm", "run", script)
    lock, command = next(((lock, command) for lock, command in MANAGERS if lock in paths), (None, WITHOUT_LOCK))
    locked = read(lock) if lock else None
    return Recipe(
        serve,
        install=(command,) if names else (),
        folder=folder,
        dependencies=hashlib.sha256((manifest or b"") + b"\0" + locked).hexdigest() if locked else None,
    )


def _parsed(manifest: bytes | None) -> dict[str, Any]:
    if manifest is None or len(manifest) > MAX_MANIFEST_BYTES:
        return {}
    try:
        return _mapping(json.loads(manifest))
    except (ValueError, RecursionError):
        return {}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
