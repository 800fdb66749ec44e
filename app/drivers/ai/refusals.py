"""Errors of a provider's response, by status. They are the same for every wire format.

The message of a provider is passed on only if it concerns the prompt or the model, and never if it may contain a key.
"""

import contextlib
import re
from typing import Any

import orjson

from app.drivers.ai.port import ApiKeyRejected, InsufficientCredit, InvalidModelResponse
from app.drivers.errors import DriverError, UpstreamError, UpstreamRejected, UpstreamThrottled
from app.drivers.http.streaming import StreamingResponse

MAX_BODY_BYTES = 16 * 1024
MAX_MESSAGE_CHARACTERS = 300
EVENT_STREAM = "text/event-stream"
_ABOUT_KEY = re.compile(r"api[ _-]?key", re.IGNORECASE)


def check(response: StreamingResponse, *, key: str | None) -> None:
    """Accept a stream of events. Close every other response and raise the error of its status."""
    if response.status == 200 and response.headers.get("Content-Type", "").lower().startswith(EVENT_STREAM):
        return
    body = response.body(max_bytes=MAX_BODY_BYTES) if 400 <= response.status < 500 else b""
    response.close()
    raise error_for_status(response.status, body, retry_after=response.headers.get("Retry-After"), key=key)


def error_for_status(status: int, body: bytes, *, retry_after: str | None, key: str | None = None) -> DriverError:
    """Return the error of a status. A message that contains the key is not included."""
    if status in (401, 403):
        return ApiKeyRejected()
    if status == 402:
        return InsufficientCredit("The model provider requires a payment for this account")
    if status == 429:
        return UpstreamThrottled("The rate limit of the model provider is reached", retry_after_s=_seconds(retry_after))
    if status in (400, 404, 413, 422):
        message = _message(body)
        message = "" if key and key in message else message
        if _ABOUT_KEY.search(message):  # Gemini and xAI return 400 for an invalid key
            return ApiKeyRejected()
        reason = message[:MAX_MESSAGE_CHARACTERS] or f"status {status}"
        return UpstreamRejected(f"The model provider rejected the request: {reason}", code="AI_REFUSED")
    if status < 300:
        return InvalidModelResponse("The model provider did not respond with an event stream")
    return UpstreamError(f"The model provider responded with status {status}")


def _seconds(value: str | None) -> int:
    with contextlib.suppress(TypeError, ValueError):
        return max(1, min(3600, round(float(value or ""))))
    return 20


def _message(body: bytes) -> str:
    """Return the message of an error body in the formats of OpenAI and Anthropic, or an empty string."""
    try:
        value: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    value = value[0] if isinstance(value, list) and value else value
    error = value.get("error", value) if isinstance(value, dict) else ""
    message = error.get("message", "") if isinstance(error, dict) else error
    return " ".join(str(message or "").split())
