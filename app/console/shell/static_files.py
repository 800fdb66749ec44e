"""The built assets. Their names contain a hash of the content, so browsers may keep them."""

import json
from functools import lru_cache
from pathlib import Path

from flask import Response, send_from_directory

from app.access.guards import no_authentication
from app.access.scope import Scope
from app.console.blueprint import blueprint
from app.console.shell.pages import Page

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


YEAR_S = 365 * 86_400


@blueprint.get("/static/<path:name>")
@Page(guard=no_authentication())
def static_file(*, scope: Scope) -> Response:
    """Return a built asset."""
    response: Response = send_from_directory(STATIC, scope.path["name"], max_age=YEAR_S)
    response.headers["Cache-Control"] = f"public, max-age={YEAR_S}, immutable"
    return response
