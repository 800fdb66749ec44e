"""Calls that return a model reply as server-sent events, for every wire format."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import orjson

from app.concurrency.cancellation import Cancellation
from app.drivers.ai import refusals
from app.drivers.ai.port import Event, InvalidModelResponse, ModelStream, Stop
from app.drivers.ai.sse import SseReader
from app.drivers.http.client import HttpClient
from app.drivers.http.streaming import StreamingResponse, StreamTimeouts

END = b"[DONE]"


class EventParser(Protocol):
    """Parser of the events of one reply."""

    def feed(self, data: dict[str, Any]) -> Sequence[Event]:
        """Parse the data of one event."""

    def end(self) -> Sequence[Event]:
        """Return the last events. Raises InvalidModelResponse if the reply is incomplete."""


class SseModelStream:
    """Events of one call."""

    def __init__(self, stream: StreamingResponse, parser: EventParser) -> None:
        self._stream, self._parser = stream, parser

    def batches(self) -> Iterator[Sequence[Event]]:
        """Implement `ModelStream.batches`."""
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
        """Implement `ModelStream.close`."""
        self._stream.close()


def _decode(data: bytes) -> dict[str, Any]:
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
    body: dict[str, Any],
    parser: EventParser,
    timeouts: StreamTimeouts,
    cancellation: Cancellation | None,
) -> ModelStream:
    """Send one prompt to a provider that replies with events. Raises the same errors as `Model.stream`."""
    headers = {"Accept": refusals.EVENT_STREAM, **headers}
    stream = http.stream("POST", url, headers=headers, json=body, timeouts=timeouts, cancellation=cancellation)
    refusals.check(stream, key=key)
    return SseModelStream(stream, parser)
