"""One request to `git http-backend` and its response, both streamed."""

import errno
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from http import HTTPStatus
from http.client import parse_headers
from io import BytesIO
from wsgiref.types import StartResponse, WSGIEnvironment

import structlog

from app.concurrency.child_processes import ChildProcess, ExitStatusUnknown
from app.concurrency.threadpool import time_limit
from app.drivers.git.hosts import BackendCall, LocalHost
from app.drivers.git.port import RepoRef
from app.git_http.push import Push
from app.git_http.request_body import BodyIncomplete, GitRequestBody
from app.git_http.responses import COMMON, GitRefusal

log = structlog.get_logger(__name__)

DEADLINE_S = 600
END_S = 5.0
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
        self._read = bytearray()
        self._sent_bytes = 0

    def begin(self, host: LocalHost, repo: RepoRef, call: BackendCall, start_response: StartResponse) -> None:
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
        with closing(theirs):
            self._process = process = host.start_backend(
                repo, call, stream=theirs.fileno(), errors=self._errors.fileno()
            )
        if self._push is not None:
            self._push.watch(process)
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
        while piece := self._receive():
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

    def _receive(self) -> bytes:
        try:
            return self._channel.recv(PIECE_BYTES)
        except ConnectionResetError:  # Git has ended without reading all of its input.
            return b""

    def _read_head(self) -> tuple[str, list[tuple[str, str]]]:
        """Read the head of the CGI response. Return the status line and the headers for the client."""
        while (end := self._read.find(b"\r\n\r\n")) < 0:
            piece = self._receive()
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
        process.end()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(ExitStatusUnknown):
            if process.poll():
                log.info("git.backend_ended", error=self._messages(), sent_bytes=self._sent_bytes)

    def _end_connection(self) -> None:
        """Shut the connection of a client that still sends its body."""
        connection = self._environ.get("gunicorn.socket")
        if connection is not None:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
