"""One request to the server in a sandbox and its response, both streamed."""

import errno
import io
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from wsgiref.types import StartResponse, WSGIEnvironment

from gunicorn.http.errors import ParseException

from app.access.guards import is_permitted
from app.drivers.sandbox.port import Upstream
from app.preview_proxy import pages
from app.preview_proxy.headers import request_head, response_headers
from app.preview_proxy.page_head import HeadInsertion
from app.preview_proxy.page_script import PageScript, is_navigation, unconditional, vary

STEP_BYTES = 1024 * 1024
"""Maximum size of one step: the informational responses and the head, or a piece of the body and the trailers."""

SILENCE_S = 600
"""Maximum time without a byte: a development server may build before it responds, and event streams may be silent."""
PIECE_BYTES = 64 * 1024
REASONS = {status.value: status.phrase for status in HTTPStatus}


class BoundedReader(io.RawIOBase):
    """A raw stream of one connection with a byte limit per step. It yields to other greenlets at each read."""

    def __init__(
        self,
        connection: socket.socket,
        allowed: Callable[[], bool],
        *,
        check_s: float,
        silence_s: float = SILENCE_S,
    ) -> None:
        self._connection, self._allowed = connection, allowed
        self._check_s, self._silence_s = check_s, silence_s
        self._remaining, self._next_check = STEP_BYTES, time.monotonic() + check_s

    def reset_budget(self) -> None:
        """Start the next step."""
        self._remaining = STEP_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        """Read the available bytes.

        Raises:
            HTTPException: the step exceeds its limit, or the membership has ended.
            OSError: the connection failed, or was silent for longer than `silence_s`.
        """
        time.sleep(0)  # a socket that always has data never switches to other greenlets
        if self._remaining <= 0:
            raise HTTPException("the step exceeds its limit")
        self._connection.settimeout(self._check_s)
        silent_until = time.monotonic() + self._silence_s
        while True:
            try:
                read = self._connection.recv_into(buffer)
            except TimeoutError:
                self._check()
                if time.monotonic() >= silent_until:
                    raise
            else:
                self._check()
                self._remaining -= read
                return read

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return the reader as a file, as `http.client` requires."""
        return io.BufferedReader(self)

    def _check(self) -> None:
        now_s = time.monotonic()
        if now_s >= self._next_check:
            self._next_check = now_s + self._check_s
            if not is_permitted(self._allowed):
                raise HTTPException("the membership has ended")


class Exchange:
    """The body of a response, with the inserted script of a page. `close` closes the connection to the sandbox."""

    def __init__(
        self, response: HTTPResponse, incoming: BoundedReader, upstream: Upstream, insertion: HeadInsertion | None
    ) -> None:
        self._response, self._incoming, self._upstream = response, incoming, upstream
        self._insertion = insertion

    def __iter__(self) -> Iterator[bytes]:
        """Yield the body. An incomplete body also ends the connection of the visitor.

        Raises:
            ConnectionResetError: the body is incomplete.
        """
        if self._insertion is None:
            yield from self._received()
            return
        yield from filter(None, map(self._insertion.feed, self._received()))
        yield from filter(None, [self._insertion.end()])

    def _received(self) -> Iterator[bytes]:
        remaining = self._response.length
        self._incoming.reset_budget()
        try:
            while piece := self._response.read1(PIECE_BYTES if remaining is None else min(PIECE_BYTES, remaining)):
                remaining = None if remaining is None else remaining - len(piece)
                yield piece
                self._incoming.reset_budget()
        except (OSError, HTTPException) as error:
            raise _incomplete_response() from error
        if remaining:
            raise _incomplete_response()

    def close(self) -> None:
        """Close the connection to the sandbox."""
        self._response.close()
        self._upstream.connection.close()


def proxy_request(
    environ: WSGIEnvironment,
    start_response: StartResponse,
    upstream: Upstream,
    *,
    allowed: Callable[[], bool],
    check_s: float,
    frame_ancestors: str,
    script: PageScript | None,
) -> Iterable[bytes]:
    """Forward the request and return the response, as long as the user is a member. Check this every `check_s`.

    The pages of an editable preview receive the `script`.
    """
    receives_script = script is not None and is_navigation(environ)
    environ = unconditional(environ) if receives_script else environ
    upstream.connection.settimeout(SILENCE_S)
    incoming = BoundedReader(upstream.connection, allowed, check_s=check_s)
    response = HTTPResponse(incoming, method=environ["REQUEST_METHOD"])  # type: ignore[arg-type]
    try:
        _send(environ, upstream)
        response.begin()
        _require_final_status(response)
    except (OSError, HTTPException, ParseException) as error:
        response.close()
        upstream.connection.close()
        page = pages.invalid_body() if isinstance(error, ParseException) else pages.bad_gateway()
        return page(environ, start_response)
    headers = response_headers(response.getheaders(), upstream, frame_ancestors=frame_ancestors)
    if response.chunked:
        headers = [(name, value) for name, value in headers if name.lower() != "content-length"]
    headers = headers if script is None else vary(headers)
    insertion = None
    if script is not None and receives_script:
        headers, insertion = script.insert(response.status, headers)
    start_response(f"{response.status} {REASONS.get(response.status, 'Unknown')}", headers)
    return Exchange(response, incoming, upstream, insertion)


def _send(environ: WSGIEnvironment, upstream: Upstream) -> None:
    """Send the request. Each connection carries one request, so the end of the body is unambiguous."""
    connection, length = upstream.connection, environ.get("CONTENT_LENGTH") or None
    chunked = length is None and environ.get("HTTP_TRANSFER_ENCODING", "").lower() == "chunked"
    additional = [("Connection", "close")]
    additional += [("Content-Length", length)] if length is not None else []
    additional += [("Transfer-Encoding", "chunked")] if chunked else []
    connection.sendall(request_head(environ, upstream, *additional))
    remaining = int(length) if length is not None else None
    while chunked or remaining:
        piece = environ["wsgi.input"].read(PIECE_BYTES if remaining is None else min(PIECE_BYTES, remaining))
        if not piece:
            break
        connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
        remaining = None if remaining is None else remaining - len(piece)
        time.sleep(0)
    if chunked:
        connection.sendall(b"0\r\n\r\n")


def _require_final_status(response: HTTPResponse) -> None:
    """Raise HTTPException for an informational response or an unrequested upgrade."""
    if response.status < HTTPStatus.OK:
        raise HTTPException("the response is informational")


def _incomplete_response() -> ConnectionResetError:
    return ConnectionResetError(errno.ECONNRESET, "The response ended early")
