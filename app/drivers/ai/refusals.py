"""What a provider's refusal means, told by its status; the same words for every wire format.

A provider's own sentence is passed on only where it speaks of the prompt or the model, never where it may repeat a key.
"""

import contextlib
import re
from typing import Any

import orjson

from app.drivers.ai.port import Garbled, KeyRejected, OutOfCredit
from app.drivers.errors import Broken, DriverError, Rejected, Throttled
from app.drivers.http_streaming import StreamedAnswer

MOST_BYTES = 16 * 1024
MOST_CHARACTERS = 300
EVENT_STREAM = "text/event-stream"
_ABOUT_KEY = re.compile(r"api[ _-]?key", re.IGNORECASE)


def check(answer: StreamedAnswer, *, key: str | None) -> None:
    """Let a stream of events pass; close anything else. Raises what the status means, in words without the key."""
    if answer.status == 200 and answer.headers.get("Content-Type", "").lower().startswith(EVENT_STREAM):
        return
    body = answer.body(max_bytes=MOST_BYTES) if 400 <= answer.status < 500 else b""
    answer.close()
    raise meaning(answer.status, body, retry_after=answer.headers.get("Retry-After"), key=key)


def meaning(status: int, body: bytes, *, retry_after: str | None, key: str | None = None) -> DriverError:
    """The failure that a status stands for; a provider's sentence that repeats the key is not passed on."""
    if status in (401, 403):
        return KeyRejected()
    if status == 402:
        return OutOfCredit("The model provider wants this account to be paid first")
    if status == 429:
        return Throttled("The model provider's rate limit is reached", retry_after_s=_seconds(retry_after))
    if status in (400, 404, 413, 422):
        said = _said(body)
        said = "" if key and key in said else said
        if _ABOUT_KEY.search(said):  # Gemini and xAI answer a wrong key with 400
            return KeyRejected()
        return Rejected(
            f"The model provider refused this: {said[:MOST_CHARACTERS] or f'status {status}'}", code="AI_REFUSED"
        )
    if status < 300:
        return Garbled("The model provider answered with something that is no stream of events")
    return Broken(f"The model provider answered with status {status}")


def _seconds(value: str | None) -> int:
    with contextlib.suppress(TypeError, ValueError):
        return max(1, min(3600, round(float(value or ""))))
    return 20


def _said(body: bytes) -> str:
    """The sentence in an error body, as OpenAI, Anthropic and their followers shape it."""
    try:
        told: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    told = told[0] if isinstance(told, list) and told else told
    error = told.get("error", told) if isinstance(told, dict) else ""
    sentence = error.get("message", "") if isinstance(error, dict) else error
    return " ".join(str(sentence or "").split())
