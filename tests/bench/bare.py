"""The cheapest route a gevent worker can answer: what a request costs before any of ours."""

from collections.abc import Callable, Iterable
from typing import Any

BODY = b'{"ok": true}'


def app(_environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer the same JSON to everything."""
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(BODY)))])
    return [BODY]
