"""One request to `git http-backend` and its response, both streamed."""

import errno
import fcntl
import os
import signal
import socket
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from http import HTTPStatus
from http.client import parse_headers
from io import BytesIO
from queue import SimpleQueue
from wsgiref.types import StartResponse, WSGIEnvironment

import structlog

from app.concurrency.child_processes import ChildProcess, ExitStatusUnknown
from app.concurrency.threadpool import time_limit
from app.drivers.git.hosts import BackendCall, StoredRepository
from app.git_http.push import Push
from app.git_http.request_body import BodyIncomplete, GitRequestBody
from app.git_http.responses import COMMON, GitRefusal

log = structlog.get_logger(__name__)

DEADLINE_S = 600
END_S = 5.0
MOVE_S = 30.0
"""How long Git may take to move the branches of a permitted push whose client has left."""

UNREAD_S, WATCH_INTERVAL_S = 9.0, 1.0
"""A client that has read nothing of a waiting response for this time is disconnected."""

MAX_COLLECTED_BYTES = 4 << 20
"""The part of the response to a push that waits for its client. That of a permitted push is smaller."""

PIECE_BYTES = 128 * 1024
MAX_HEAD_BYTES = 8 * 1024
MAX_LOGGED_BYTES = 2_000
PASSED_OUT = ("Content-Type", "Expires", "Pragma")
"""Headers of `git http-backend` that the client receives."""


class DeadlinePassed(OSError):
    """A request that takes too long. The server closes its connection without a complete response."""


class GitExchange:
    """The response of a request. `close` ends the processes of the request and releases everything it has used."""

    def __init__(self, environ: WSGIEnvironment, body: GitRequestBody | None, push: Push | None) -> None:
        self._environ, self._body, self._push = environ, body, push
        self._stack, self._deadline = ExitStack(), ExitStack()
        self._failure: GitRefusal | None = None
        self._process: ChildProcess | None = None
        self._sender: threading.Thread | None = None
        self._collected: SimpleQueue[bytes] | None = SimpleQueue() if push is not None else None
        self._is_closed = threading.Event()
        self._read = bytearray()
        self._sent_bytes = 0

    def begin(self, repository: StoredRepository, call: BackendCall, start_response: StartResponse) -> None:
        """Start Git, forward the body, and start the response when Git has written its head.

        Raises:
            GitRefusal: Git wrote no head, or the body was refused.
        """
        self._deadline.enter_context(
            time_limit(DEADLINE_S, DeadlinePassed(errno.ECONNRESET, "The deadline has passed"))
        )
        self._errors = self._stack.enter_context(tempfile.TemporaryFile("w+b", 0))  # noqa: SIM115 (the stack closes it)
        ours, theirs = socket.socketpair()
        self._channel = self._stack.enter_context(closing(ours))
        ours.settimeout(DEADLINE_S)
        # gevent makes both ends non-blocking. Git would fail when it writes faster than the client reads.
        os.set_blocking(theirs.fileno(), True)
        with closing(theirs):
            self._process = process = repository.start_backend(
                call, stream=theirs.fileno(), errors=self._errors.fileno()
            )
        if self._push is not None and self._collected is not None:
            self._push.watch(process)
            threading.Thread(target=self._collect, args=(self._collected,), name="git-response", daemon=True).start()
        if "gunicorn.socket" in self._environ:
            threading.Thread(target=self._watch_client, name="git-client", daemon=True).start()
        self._sender = threading.Thread(target=self._send, name="git-request", daemon=True)
        self._sender.start()
        if self._push is None:
            # Git reads a complete request before it responds. A refusal of the body can still be the response.
            self._sender.join()
        if self._failure is not None:
            raise self._failure
        status, headers = self._read_head()
        start_response(status, headers)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the body of the response. It ends after the effects of a push are stored."""
        yield bytes(self._read)
        while piece := self._next_piece():
            self._sent_bytes += len(piece)
            yield piece
            time.sleep(0)  # a socket that always has data never switches to other greenlets
        if self._sender is not None:
            self._sender.join()
        if self._failure is not None:
            raise ConnectionResetError(errno.ECONNRESET, "The request was refused after its response had begun")
        if self._push is not None:
            self._end_process()
            self._push.finish()

    def close(self) -> None:
        """End the request, also one whose client has left."""
        self._deadline.close()
        self._is_closed.set()
        try:
            self._end_process()
            if self._sender is not None and self._sender.is_alive():
                self._end_connection()
                self._sender.join(END_S)
        finally:
            if self._push is not None:
                self._push.finish()
            self._stack.close()

    def _send(self) -> None:
        """Forward the body to Git. When Git ends early, discard the rest, so that the client reads the response."""
        is_open = True
        try:
            for piece in self._body.pieces() if self._body is not None else ():
                if is_open:
                    is_open = self._forward(piece)
            with suppress(OSError):
                self._channel.shutdown(socket.SHUT_WR)
        except GitRefusal as refusal:
            self._failure = refusal
            self._end_process()
        except BodyIncomplete:
            self._failure = GitRefusal(400, "The body of the request is incomplete")
            self._end_process()

    def _forward(self, piece: bytes) -> bool:
        """Send a piece to Git. Return False if Git has ended."""
        try:
            self._channel.sendall(piece)
        except OSError:
            return False
        return True

    def _collect(self, collected: SimpleQueue[bytes]) -> None:
        """Receive the response to a push before its client reads it, so that Git never waits for the client."""
        received_bytes = 0
        with suppress(OSError):
            while piece := self._receive():
                collected.put(piece)
                received_bytes += len(piece)
                while received_bytes - self._sent_bytes > MAX_COLLECTED_BYTES and not self._is_closed.is_set():
                    time.sleep(WATCH_INTERVAL_S)
        collected.put(b"")

    def _watch_client(self) -> None:
        """Disconnect a client that reads nothing of a waiting response. It would occupy Git."""
        connection, since_s = self._environ["gunicorn.socket"], time.monotonic()
        before: tuple[int, int] | None = None
        while not self._is_closed.wait(WATCH_INTERVAL_S):
            present = self._sent_bytes, _unread_bytes(connection)
            if not present[1] or present != before:
                before, since_s = present, time.monotonic()
            elif time.monotonic() - since_s >= UNREAD_S:
                log.info("git.response_unread", sent_bytes=self._sent_bytes)
                self._end_connection()
                return

    def _next_piece(self) -> bytes:
        return self._receive() if self._collected is None else self._collected.get()

    def _receive(self) -> bytes:
        try:
            return self._channel.recv(PIECE_BYTES)
        except ConnectionResetError:  # Git has ended without reading all of its input.
            return b""

    def _read_head(self) -> tuple[str, list[tuple[str, str]]]:
        """Read the head of the CGI response. Return the status line and the headers for the client."""
        while (end := self._read.find(b"\r\n\r\n")) < 0:
            piece = self._next_piece()
            if not piece or len(self._read) > MAX_HEAD_BYTES:
                raise self._failure or self._broken()
            self._read += piece
        headers = parse_headers(BytesIO(bytes(self._read[: end + 4])))
        del self._read[: end + 4]
        code = int(str(headers.get("Status", "200")).partition(" ")[0])
        passed = [(name, str(headers[name])) for name in PASSED_OUT if name in headers]
        return f"{code} {HTTPStatus(code).phrase}", [*passed, *COMMON.items()]

    def _broken(self) -> GitRefusal:
        log.warning("git.backend_failed", error=self._messages())
        return GitRefusal(502, "Git cannot complete this operation on the repository")

    def _messages(self) -> str:
        return os.pread(self._errors.fileno(), MAX_LOGGED_BYTES, 0).decode(errors="replace")

    def _end_process(self) -> None:
        """End Git and every process that it has started. Do nothing if it was ended before."""
        process, self._process = self._process, None
        if process is None:
            return
        if self._push is not None and self._push.is_permitted:
            with suppress(TimeoutError, ExitStatusUnknown):
                process.wait(MOVE_S)
        process.end()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(ExitStatusUnknown):
            if process.poll():
                log.info("git.backend_ended", error=self._messages(), sent_bytes=self._sent_bytes)

    def _end_connection(self) -> None:
        """Shut the connection of the client. The greenlet that waits for its socket receives no error of gevent."""
        connection = self._environ.get("gunicorn.socket")
        if connection is not None:
            with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as duplicate:
                duplicate.shutdown(socket.SHUT_RDWR)


def _unread_bytes(connection: socket.socket) -> int:
    """Return the sent bytes that the system of the client has not acknowledged. It does not if its window is full."""
    try:
        return int.from_bytes(fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, bytes(4)), sys.byteorder)
    except (OSError, ValueError):  # A closed socket has no descriptor.
        return 0
