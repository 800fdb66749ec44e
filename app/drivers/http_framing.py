"""Where the body of an HTTP/1.1 answer ends, told while its bytes come (RFC 9112, sections 6 and 7); reads nothing itself."""

import re
from typing import Protocol

from app.drivers.errors import Broken

_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
_LINE = re.compile(rb"([^\r\n]*)\r?\n")
LINE_BYTES = 8 * 1024


class Framing(Protocol):
    """How much of what comes is body. `over`: it has ended; `spare`: more came than belongs to it."""

    over: bool
    spare: bool

    def take(self, data: bytes) -> bytes:
        """What of `data` is body. Raises Broken for what is no framing."""

    def at_end(self) -> bool:
        """Whether the connection's end is the body's."""


class Counted:
    """A body of so many bytes; without a number, up to the connection's end."""

    def __init__(self, length: int | None) -> None:
        self._left = length
        self.over, self.spare = length == 0, False

    def take(self, data: bytes) -> bytes:
        """See `Framing`."""
        if self._left is None:
            return data
        body = data[: self._left]
        self._left -= len(body)
        self.over, self.spare = self._left == 0, len(body) < len(data)
        return body

    def at_end(self) -> bool:
        """See `Framing`."""
        return self._left is None


class Chunked:
    """A body in chunks, each after its size."""

    def __init__(self) -> None:
        self._rest = b""
        self._left = 0  # of the running chunk, with the line end after it
        self._trailer = self.over = self.spare = False

    def take(self, data: bytes) -> bytes:
        """See `Framing`."""
        buffer = self._rest + data if self._rest else data
        parts: list[bytes] = []
        at = 0 if self._left or self._trailer else _whole_chunks(buffer, parts)
        while at < len(buffer) and not self.over:
            after = self._step(buffer, at, parts)
            if after is None:
                break
            at = after
        self._rest = buffer[at:]
        self.spare = self.over and bool(self._rest)
        if not self._left and len(self._rest) > LINE_BYTES:
            raise Broken("The other service does not speak proper HTTP")
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def at_end(self) -> bool:
        """See `Framing`."""
        return False

    def _step(self, buffer: bytes, at: int, parts: list[bytes]) -> int | None:
        """Take one piece; None where more has to come first."""
        if self._left > 2:
            body = buffer[at : at + self._left - 2]
            if not body:
                return None
            parts.append(body)
            self._left -= len(body)
            return at + len(body)
        if self._left:
            return self._line_end(buffer, at)
        return self._end(buffer, at) if self._trailer else self._size(buffer, at)

    def _line_end(self, buffer: bytes, at: int) -> int | None:
        if len(buffer) < at + 2:
            return None
        if buffer[at : at + 2] != b"\r\n":
            raise Broken("The other service does not speak proper HTTP")
        self._left = 0
        return at + 2

    def _size(self, buffer: bytes, at: int) -> int | None:
        found = _SIZE.match(buffer, at)
        if found is None:
            if b"\n" in buffer[at:]:
                raise Broken("The other service does not speak proper HTTP")
            return None
        size = int(found[1], 16)
        self._left, self._trailer = (size + 2, False) if size else (0, True)
        return found.end()

    def _end(self, buffer: bytes, at: int) -> int | None:
        """A line of the trailer; the empty one is the end."""
        found = _LINE.match(buffer, at)
        if found is None:
            return None
        self.over = not found[1]
        return found.end()


def _whole_chunks(buffer: bytes, parts: list[bytes]) -> int:
    """Take the chunks that are there from beginning to end, as most are; where the rest begins."""
    at = 0
    while (found := _SIZE.match(buffer, at)) is not None:
        start = found.end()
        end = start + int(found[1], 16)
        if end == start or buffer[end : end + 2] != b"\r\n":
            break
        parts.append(buffer[start:end])
        at = end + 2
    return at
