"""Minimal WSGI routes: the cost of a request in a gevent worker without Galley."""

from collections.abc import Callable, Iterable
from typing import Any

from flask import Flask, Response

BODY = b'{"ok": true}'


def app(_environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Return the same JSON for every request."""
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(BODY)))])
    return [BODY]


flask_app = Flask("bare")
flask_app.add_url_rule("/", view_func=lambda: Response(BODY, mimetype="application/json"))
