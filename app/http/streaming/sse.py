"""Server-sent events with JSON data, and the last event of a failed stream."""

from typing import Any

import orjson

from app.http.error_handlers import to_app_error


def sse_event(data: dict[str, Any]) -> bytes:
    """Return one framed event."""
    return b"data: " + orjson.dumps(data) + b"\n\n"


def failure(error: Exception) -> bytes:
    """Return the last event of a failed stream."""
    shown = to_app_error(error)
    return sse_event({"error": shown.message, "code": shown.code})
