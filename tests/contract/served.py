"""Declared routes of the application, read from its URL map."""

import re
from typing import Any, NamedTuple

from flask import Flask

from app.http.endpoint import Endpoint, find_endpoint

_VARIABLE = re.compile(r"<(?:[^:>]+:)?([^>]+)>")
_API = "/api/v1"


class Served(NamedTuple):
    """A method of a route. The path uses the notation of the specification."""

    method: str
    path: str
    declared: Endpoint
    view: Any


def served(app: Flask) -> dict[tuple[str, str], Served]:
    """Return every declared route of the API by method and path. `tests/console/pages.py` lists the pages."""
    values = {}
    for rule in app.url_map.iter_rules():
        view = app.view_functions[rule.endpoint]
        declared = find_endpoint(view)
        if declared is None or declared.is_page:
            continue
        path = _VARIABLE.sub(r":\1", str(rule)).removeprefix(_API)
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
            values[method, path] = Served(method, path, declared, view)
    return values
