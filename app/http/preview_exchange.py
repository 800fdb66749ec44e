"""One request to the server inside a sandbox, and its answer, both streamed."""

import errno
import time
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from typing import Any

from gunicorn.http.errors import ParseException

from app.drivers.sandbox.port import Upstream
from app.http import preview_pages as pages
from app.http.preview_headers import answered, head
from app.http.preview_incoming import SILENCE_S, Incoming

PIECE_BYTES = 64 * 1024
REASONS = {status.value: status.phrase for status in HTTPStatus}


class Exchange:
    """The body of an answer; closing it closes the connection to the sandbox."""

    def __init__(self, response: HTTPResponse, incoming: Incoming, upstream: Upstream) -> None:
        self._response, self._incoming, self._upstream = response, incoming, upstream

    def __iter__(self) -> Iterator[bytes]:
        """Yield the body; one that breaks off breaks the visitor's connection too, which nobody may use again then.

        Raises:
            ConnectionResetError: it broke off.
        """
        left = self._response.length
        self._incoming.step()
        try:
            while piece := self._response.read1(PIECE_BYTES if left is None else min(PIECE_BYTES, left)):
                left = None if left is None else left - len(piece)
                yield piece
                self._incoming.step()
        except (OSError, HTTPException) as error:
            raise _broken() from error
        if left:
            raise _broken()

    def close(self) -> None:
        """Let go of the connection, whoever broke off."""
        self._response.close()
        self._upstream.connection.close()


def exchange(
    environ: dict[str, Any], start_response: Callable[..., Any], upstream: Upstream, *, allowed: Callable[[], bool]
) -> Iterable[bytes]:
    """Pass the request in and the answer out, for as long as the user may."""
    upstream.connection.settimeout(SILENCE_S)
    incoming = Incoming(upstream.connection, allowed)
    response = HTTPResponse(incoming, method=environ["REQUEST_METHOD"])  # type: ignore[arg-type]
    try:
        _send(environ, upstream)
        response.begin()
        _check_final(response)
    except (OSError, HTTPException, ParseException) as error:
        response.close()
        upstream.connection.close()
        page = pages.unframed() if isinstance(error, ParseException) else pages.not_answering()
        return page(environ, start_response)
    headers = answered(response.getheaders(), upstream)
    if response.chunked:
        headers = [(name, value) for name, value in headers if name.lower() != "content-length"]
    start_response(f"{response.status} {REASONS.get(response.status, 'Unknown')}", headers)
    return Exchange(response, incoming, upstream)


def _send(environ: dict[str, Any], upstream: Upstream) -> None:
    """One request a connection: the body's end then needs no guessing."""
    connection, length = upstream.connection, environ.get("CONTENT_LENGTH") or None
    chunked = length is None and environ.get("HTTP_TRANSFER_ENCODING", "").lower() == "chunked"
    more = [("Connection", "close")]
    more += [("Content-Length", length)] if length is not None else []
    more += [("Transfer-Encoding", "chunked")] if chunked else []
    connection.sendall(head(environ, upstream, *more))
    left = int(length) if length is not None else None
    while chunked or left:
        piece = environ["wsgi.input"].read(PIECE_BYTES if left is None else min(PIECE_BYTES, left))
        if not piece:
            break
        connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
        left = None if left is None else left - len(piece)
        time.sleep(0)
    if chunked:
        connection.sendall(b"0\r\n\r\n")


def _check_final(response: HTTPResponse) -> None:
    """Raises HTTPException: it is no answer yet, or an upgrade that nobody asked for."""
    if response.status < HTTPStatus.OK:
        raise HTTPException("no answer")


def _broken() -> ConnectionResetError:
    return ConnectionResetError(errno.ECONNRESET, "The answer broke off")
