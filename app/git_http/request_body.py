"""The body of a Git request: its framing, its compression and its limits."""

import time
import zlib
from collections.abc import Iterator
from wsgiref.types import WSGIEnvironment

from gunicorn.http.errors import NoMoreData, ParseException

from app.concurrency.threadpool import time_limit
from app.core.limits import MIB, InputLimits
from app.drivers.git.hosts import GitService
from app.git_http.responses import GitRefusal

PIECE_BYTES = 64 * 1024
MAX_UPLOAD_REQUEST_BYTES = 10 * MIB
"""Size of the wanted and known commits of a fetch. `git http-backend` refuses longer requests by default."""

ENCODINGS = {"": False, "identity": False, "gzip": True, "x-gzip": True}
DRAINED_PUSHES = 2
"""A body may be this number of times as large as the largest push. Git refuses the push with a sentence, and the client
reads it when it has sent its pack."""


class BodyIncomplete(Exception):
    """The client left, or was silent for too long."""


class GitRequestBody:
    """The decompressed body of a request in pieces.

    Decompression in this process has a limit. `git http-backend` would decompress any amount.
    """

    def __init__(self, environ: WSGIEnvironment, git_service: GitService, *, max_push_bytes: int) -> None:
        is_push = git_service is GitService.RECEIVE
        self._input = environ["wsgi.input"]
        self._max_bytes = DRAINED_PUSHES * max_push_bytes + MIB if is_push else MAX_UPLOAD_REQUEST_BYTES
        self._expected = f"application/x-{git_service}-request"
        self._content_type = environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
        self._encoding = environ.get("HTTP_CONTENT_ENCODING", "").strip().lower()
        self._length = environ.get("CONTENT_LENGTH") or None
        self._is_chunked = environ.get("HTTP_TRANSFER_ENCODING", "").strip().lower() == "chunked"
        self.size_bytes = 0

    def check(self) -> None:
        """Check what the headers say.

        Raises:
            GitRefusal: 411, 413 or 415.
        """
        if self._content_type != self._expected:
            raise GitRefusal(415, f"The media type must be {self._expected}")
        if self._encoding not in ENCODINGS:
            raise GitRefusal(415, "The body may only be compressed with gzip")
        if self._length is None and not self._is_chunked:
            raise GitRefusal(411, "The request needs a length or a chunked body")
        if self._length is not None and int(self._length) > self._max_bytes:
            raise self._too_large()

    def pieces(self) -> Iterator[bytes]:
        """Yield the body. Other greenlets run between two pieces.

        Raises:
            BodyIncomplete: the body ends early.
            GitRefusal: 400 for a body that cannot be decompressed, 413.
        """
        pieces = self._received()
        for piece in self._decompressed(pieces) if ENCODINGS[self._encoding] else pieces:
            self.size_bytes += len(piece)
            if self.size_bytes > self._max_bytes:
                raise self._too_large()
            yield piece
            time.sleep(0)

    def _received(self) -> Iterator[bytes]:
        remaining = None if self._length is None else int(self._length)
        while remaining is None or remaining > 0:
            size = PIECE_BYTES if remaining is None else min(PIECE_BYTES, remaining)
            try:
                with time_limit(InputLimits.body_timeout_s, TimeoutError()):
                    piece = self._input.read(size)
            except (OSError, ParseException, NoMoreData) as error:
                raise BodyIncomplete from error
            if not piece:
                break
            remaining = None if remaining is None else remaining - len(piece)
            yield piece
        if remaining:
            raise BodyIncomplete

    @staticmethod
    def _decompressed(pieces: Iterator[bytes]) -> Iterator[bytes]:
        stream = zlib.decompressobj(16 + zlib.MAX_WBITS)
        try:
            for piece in pieces:
                data = piece
                while data and not stream.eof:
                    if output := stream.decompress(data, PIECE_BYTES):
                        yield output
                    data = stream.unconsumed_tail
        except zlib.error as error:
            raise GitRefusal(400, "The compressed body is damaged") from error
        if not stream.eof:
            raise BodyIncomplete

    @staticmethod
    def _too_large() -> GitRefusal:
        return GitRefusal(413, "The request is too large")
