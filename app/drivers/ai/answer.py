"""Calls that return a model reply as server-sent events (WHATWG HTML, section 9.2.6), for every wire format.

Only the `data` of events is read. The wire formats of models repeat the event name in the data. The message of a
provider's error is passed on only if it concerns the prompt or the model, and never if it may contain a key.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import orjson

from app.concurrency.cancellation import Cancellation
from app.drivers.ai.port import ApiKeyRejected, Event, InsufficientCredit, InvalidModelResponse, ModelStream, Stop
from app.drivers.errors import DriverError, UpstreamError, UpstreamRejected, UpstreamThrottled
from app.drivers.http.client import HttpClient
from app.drivers.http.streaming import StreamingResponse, StreamTimeouts

END = b"[DONE]"
MAX_EVENT_BYTES = 1024 * 1024
MAX_BODY_BYTES = 16 * 1024
MAX_MESSAGE_CHARACTERS = 300
EVENT_STREAM = "text/event-stream"
_ABOUT_KEY = re.compile(r"api[ _-]?key", re.IGNORECASE)


class EventParser(Protocol):
    """Parser of the events of one reply."""

    def feed(self, data: dict[str, object]) -> Sequence[Event]:
        """Parse the data of one event."""

    def end(self) -> Sequence[Event]:
        """Return the last events. Raises InvalidModelResponse if the reply is incomplete."""


class SseModelStream:
    """Events of one call."""

    def __init__(self, stream: StreamingResponse, parser: EventParser) -> None:
        self._stream, self._parser = stream, parser

    def batches(self) -> Iterator[Sequence[Event]]:
        try:
            reader = SseReader()
            for piece in self._stream.chunks():
                batch: list[Event] = []
                try:
                    is_complete = self._parse(reader.feed(piece), batch)
                except InvalidModelResponse:
                    yield batch
                    raise
                yield batch
                if is_complete:
                    self._stream.finish()
                    return
            yield self._parser.end()
        finally:
            self._stream.close()

    def _parse(self, events: Sequence[bytes], batch: list[Event]) -> bool:
        """Add the parsed events to `batch` and return whether the reply is complete."""
        for data in events:
            batch += self._parser.end() if data == END else self._parser.feed(_decode(data))
            if batch and isinstance(batch[-1], Stop):
                return True
        return False

    def close(self) -> None:
        self._stream.close()


def _decode(data: bytes) -> dict[str, object]:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise InvalidModelResponse("The model provider sent invalid JSON") from error
    if not isinstance(value, dict):
        raise InvalidModelResponse("The model provider sent an event that is not an object")
    if value.get("error"):
        raise InvalidModelResponse("The model provider ended the reply with an error")
    return value


def stream_reply(
    http: HttpClient,
    url: str,
    *,
    key: str | None,
    headers: dict[str, str],
    body: dict[str, object],
    parser: EventParser,
    timeouts: StreamTimeouts,
    cancellation: Cancellation | None,
) -> ModelStream:
    """Send one prompt to a provider that replies with events. Raises the same errors as `Model.stream`."""
    headers = {"Accept": EVENT_STREAM, **headers}
    stream = http.stream("POST", url, headers=headers, json=body, timeouts=timeouts, cancellation=cancellation)
    check(stream, key=key)
    return SseModelStream(stream, parser)


class SseReader:
    """Buffer that returns complete events."""

    def __init__(self) -> None:
        self._buffer = b""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the data of every event that `piece` completes.

        Raises:
            InvalidModelResponse: an event exceeds `MAX_EVENT_BYTES`.
        """
        buffer = self._buffer + piece
        if b"\r" in buffer:
            buffer = self._normalize_line_ends(buffer)
        lines = buffer.split(b"\n")
        self._buffer = lines.pop()
        events = self._events(lines)
        if len(self._buffer) + self._size > MAX_EVENT_BYTES:
            raise InvalidModelResponse("The model provider sent an event that is too large")
        return events

    def _normalize_line_ends(self, buffer: bytes) -> bytes:
        """Replace line ends with line feeds. A final carriage return stays, because its line feed may follow."""
        tail = b"\r" if buffer.endswith(b"\r") else b""
        body = buffer[: len(buffer) - len(tail)]
        return body.replace(b"\r\n", b"\n").replace(b"\r", b"\n") + tail

    def _events(self, lines: Iterable[bytes]) -> list[bytes]:
        events: list[bytes] = []
        for line in lines:
            if not line:
                if self._data:
                    events.append(b"\n".join(self._data))
                    self._data, self._size = [], 0
            elif line.startswith(b"data:"):
                value = line[6:] if line[5:6] == b" " else line[5:]
                self._data.append(value)
                self._size += len(value)
        return events


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
        value: object = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    value = value[0] if isinstance(value, list) and value else value
    error = value.get("error", value) if isinstance(value, dict) else ""
    message = error.get("message", "") if isinstance(error, dict) else error
    return " ".join(str(message or "").split())
