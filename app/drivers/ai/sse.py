"""Server-sent events out of bytes as they arrive (WHATWG HTML, section 9.2.6); knows nothing of what they say.

Only the `data` of events is given: the wire formats of models repeat the event's name inside it.
"""

from collections.abc import Iterable

from app.drivers.ai.port import Garbled

MAX_EVENT_BYTES = 1024 * 1024


class SseReader:
    """Collects bytes until events are whole."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """The data of every event that `piece` completes. Raises Garbled for one that never ends."""
        buffer = self._rest + piece
        if b"\r" in buffer:
            buffer = self._plain_ends(buffer)
        lines = buffer.split(b"\n")
        self._rest = lines.pop()
        events = self._events(lines)
        if len(self._rest) + self._size > MAX_EVENT_BYTES:
            raise Garbled("The model provider sent an event without an end")
        return events

    def _plain_ends(self, buffer: bytes) -> bytes:
        """Any line end as a line feed; a carriage return at the very end may still get its line feed."""
        held = b"\r" if buffer.endswith(b"\r") else b""
        body = buffer[: len(buffer) - len(held)]
        return body.replace(b"\r\n", b"\n").replace(b"\r", b"\n") + held

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
