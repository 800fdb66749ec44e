"""The body of a request on its connection: limits on its framing, and the end of a connection whose body was not read.

gunicorn imports this module before it patches the standard library.
"""

import time
from typing import Any

from gunicorn.http.body import Body, ChunkedReader, LengthReader
from gunicorn.http.errors import InvalidChunkSize, ParseException

DRAIN_BYTES = 64 * 1024
"""The part of an unread body that is discarded, so that its connection can serve the next request."""

MAX_BODY_BYTES = 2**40
"""The largest length that a body or a chunk may declare."""

FREE_CHUNKS, CHUNK_BYTES = 10_000, 64
"""A body may have this number of chunks, and one more for each `CHUNK_BYTES`."""

CHUNK_LINE_BYTES = 256
CHUNKS_WITHOUT_SWITCH = 256


class AbsurdLength(ParseException):
    """A declared length that no client sends."""


class BoundedChunkedReader(ChunkedReader):
    """A reader of chunked bodies that refuses bodies of many tiny chunks, which cost more than their content."""

    def __init__(self, request: object, unreader: object) -> None:
        super().__init__(request, unreader)  # type: ignore[no-untyped-call]
        self.limit_chunk_size_line = CHUNK_LINE_BYTES
        self._chunks = self._declared_bytes = 0

    def parse_chunk_size(self, unreader: object, data: bytes | None = None) -> tuple[int, object]:
        """Read the size of the next chunk.

        Raises:
            InvalidChunkSize: the size is absurd, or the body has too many chunks.
        """
        size, following = super().parse_chunk_size(unreader, data)  # type: ignore[no-untyped-call]
        self._chunks += 1
        self._declared_bytes += size
        if size > MAX_BODY_BYTES or self._chunks > FREE_CHUNKS + self._declared_bytes // CHUNK_BYTES:
            raise InvalidChunkSize(b"too large, or too many chunks")  # type: ignore[no-untyped-call]
        if self._chunks % CHUNKS_WITHOUT_SWITCH == 0:
            time.sleep(0)  # reading received bytes never switches to other greenlets
        return size, following


class ConnectionBody(Body):
    """The body of a request. It can end the connection after the response."""

    def __init__(self, request: Any) -> None:
        reader = request.body.reader
        if isinstance(reader, ChunkedReader):
            reader = BoundedChunkedReader(request, request.unreader)
        super().__init__(reader)  # type: ignore[no-untyped-call]
        self._request = request

    @property
    def is_long(self) -> bool:
        """Return whether the declared length of the unread part is above `DRAIN_BYTES`."""
        return isinstance(self.reader, LengthReader) and self.reader.length > DRAIN_BYTES

    @property
    def is_open(self) -> bool:
        """Return whether the end of a chunked body was not read."""
        return isinstance(self.reader, ChunkedReader) and self.reader.parser is not None

    def end_connection(self) -> None:
        """Send `Connection: close` with the response, and close the connection after it."""
        self._request.force_close()


def check_length(value: str) -> None:
    """Raise AbsurdLength for a declared length of more than `MAX_BODY_BYTES`."""
    if int(value) > MAX_BODY_BYTES:
        raise AbsurdLength
