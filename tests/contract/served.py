"""What the application serves, read from its own map of routes."""

import re
from typing import Any, NamedTuple

from flask import Flask

from app.http.endpoint import Declaration, declaration_of

_VARIABLE = re.compile(r"<(?:[^:>]+:)?([^>]+)>")
_API = "/api/v1"


class Served(NamedTuple):
    """One method of one route; paths are written as the specification writes them."""

    method: str
    path: str
    declared: Declaration
    view: Any


def served(app: Flask) -> dict[tuple[str, str], Served]:
    """Every declared route by method and path."""
    found = {}
    for rule in app.url_map.iter_rules():
        view = app.view_functions[rule.endpoint]
        declared = declaration_of(view)
        if declared is None:
            continue
        path = _VARIABLE.sub(r":\1", str(rule)).removeprefix(_API)
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
            found[method, path] = Served(method, path, declared, view)
    return found
