"""An answer that comes as server-sent events, whichever wire format their data is in."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import orjson

from app.core.cancellation import Cancellation
from app.drivers.ai import refusals
from app.drivers.ai.port import Event, Garbled, ModelAnswer, Stop
from app.drivers.ai.sse import SseReader
from app.drivers.http import HttpClient
from app.drivers.http_streaming import Patience, StreamedAnswer

END = b"[DONE]"


class Reading(Protocol):
    """Turns the data of one answer's events into ours; made anew for each answer."""

    def take(self, data: Any) -> Sequence[Event]:
        """What one event says."""

    def end(self) -> Sequence[Event]:
        """What is left to say when no more comes. Raises Garbled when the answer is not whole."""


class SseAnswer:
    """Reads the events of one call."""

    def __init__(self, stream: StreamedAnswer, reading: Reading) -> None:
        self._stream, self._reading = stream, reading

    def batches(self) -> Iterator[Sequence[Event]]:
        """See the port."""
        try:
            reader = SseReader()
            for piece in self._stream.pieces():
                batch: list[Event] = []
                try:
                    stopped = self._read(reader.feed(piece), batch)
                except Garbled:
                    yield batch
                    raise
                yield batch
                if stopped:
                    self._stream.finish()
                    return
            yield self._reading.end()
        finally:
            self._stream.close()

    def _read(self, events: Sequence[bytes], batch: list[Event]) -> bool:
        """Add what the events say; whether the answer is whole with them."""
        for data in events:
            batch += self._reading.end() if data == END else self._reading.take(_parsed(data))
            if batch and isinstance(batch[-1], Stop):
                return True
        return False

    def close(self) -> None:
        """See the port."""
        self._stream.close()


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        told = orjson.loads(data)
    except orjson.JSONDecodeError as fault:
        raise Garbled("The model provider sent something that is not JSON") from fault
    if not isinstance(told, dict):
        raise Garbled("The model provider sent something that is no event")
    if told.get("error"):
        raise Garbled("The model provider broke off with an error")
    return told


def ask(
    http: HttpClient,
    url: str,
    *,
    key: str | None,
    headers: dict[str, str],
    body: dict[str, Any],
    reading: Callable[[], Reading],
    patience: Patience,
    cancellation: Cancellation | None,
) -> ModelAnswer:
    """Send one prompt in a wire format that answers with events. Raises as `Model.ask` does."""
    headers = {"Accept": refusals.EVENT_STREAM, **headers}
    stream = http.stream("POST", url, headers=headers, json=body, patience=patience, cancellation=cancellation)
    refusals.check(stream, key=key)
    return SseAnswer(stream, reading())
