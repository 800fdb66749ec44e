"""Incremental parser of server-sent events (WHATWG HTML, section 9.2.6).

It returns the `data` of events only. The wire formats of models repeat the event name in the data.
"""

from collections.abc import Iterable

from app.drivers.ai.port import InvalidModelResponse

MAX_EVENT_BYTES = 1024 * 1024


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
