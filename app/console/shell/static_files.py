"""The built assets. Their names contain a hash of the content, so browsers may keep them."""

import json
import mimetypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from flask import Response, request
from werkzeug.security import safe_join

from app.access.guards import no_authentication
from app.access.scope import Scope
from app.console.blueprint import blueprint
from app.console.shell.pages import Page
from app.core.errors import NotFound
from app.http.caching import precompressed_response

STATIC = Path(__file__).parents[1] / "static"
_MANIFEST = STATIC / "manifest.json"


def _names() -> dict[str, str]:
    """Return the file names by asset name. The build can end after the server has started."""
    try:
        return _read(_MANIFEST.stat().st_mtime_ns)
    except FileNotFoundError:
        return {}


@lru_cache(maxsize=1)
def _read(_modified_ns: int) -> dict[str, str]:
    names: dict[str, str] = json.loads(_MANIFEST.read_text())
    return names


def is_built(name: str = "console.js") -> bool:
    """Return whether an asset exists. Without the npm registry there is a stylesheet, but no script and no icons."""
    return name in _names()


def asset_url(name: str) -> str:
    """Return the URL of an asset, for example `console.css`."""
    return f"/console/static/{_names().get(name, name)}"


def content(name: str) -> bytes:
    """Return the content of an asset, or nothing if it was not built."""
    file = _names().get(name)
    return _content(file) if file is not None else b""


@lru_cache(maxsize=4)
def _content(file: str) -> bytes:
    """Read a file once: its name contains the hash of its content."""
    return (STATIC / file).read_bytes()


UNCHANGED = f"max-age={365 * 86_400}, immutable"
"""Cache control of a file whose address contains the hash of its content."""
SUFFIXES = {"br": ".br", "gzip": ".gz"}
"""The suffixes of the compressed files by coding. The preferred coding is the first."""


@dataclass(frozen=True)
class BuiltFile:
    """A built file and its compressed forms. The build writes them next to it."""

    path: Path

    @cached_property
    def codings(self) -> Sequence[str]:
        """The codings of the compressed forms, the preferred first."""
        return tuple(coding for coding in SUFFIXES if self._compressed(coding).is_file())

    def encoded(self, coding: str) -> bytes:
        """Return a compressed form."""
        return self._compressed(coding).read_bytes()

    def plain(self) -> bytes:
        """Return the file."""
        return self.path.read_bytes()

    def _compressed(self, coding: str) -> Path:
        return self.path.with_name(self.path.name + SUFFIXES[coding])


def built_file(name: str) -> BuiltFile | None:
    """Return an asset with its compressed forms, or None if it was not built."""
    file = _names().get(name)
    return BuiltFile(STATIC / file) if file is not None else None


@blueprint.get("/static/<path:name>")
@Page(guard=no_authentication())
def static_file(*, scope: Scope) -> Response:
    """Return a built asset in the coding that the browser prefers."""
    path = safe_join(str(STATIC), scope.path["name"])
    if path is None or not Path(path).is_file():
        raise NotFound
    file = BuiltFile(Path(path))
    response = precompressed_response(request, file, tag=None)
    response.mimetype = mimetypes.guess_type(file.path.name)[0] or "application/octet-stream"
    response.headers["Cache-Control"] = f"public, {UNCHANGED}"
    return response
