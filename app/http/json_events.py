"""Server-sent events whose data is JSON: how they are framed, and what stands in the last one of a stream that failed."""

from typing import Any

import orjson

from app.http.error_handlers import as_answer


def event(words: dict[str, Any]) -> bytes:
    """One event."""
    return b"data: " + orjson.dumps(words) + b"\n\n"


def failure(error: Exception) -> bytes:
    """The event that tells why there will be no more."""
    told = as_answer(error)
    return event({"error": told.message, "code": told.code})
