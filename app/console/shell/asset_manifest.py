"""Hashed names of the built assets in `static/`."""

import json
from functools import lru_cache
from pathlib import Path

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
