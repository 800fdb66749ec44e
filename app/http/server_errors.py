"""Errors of requests that never reach the application, as JSON responses on the socket."""

import contextlib
import socket
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus

import orjson
from gunicorn.http import errors

from app.http.connection_body import AbsurdLength
from app.http.gunicorn_hooks import linger
from app.http.headers import REQUEST_ID, SECURITY_HEADERS

SEND_TIMEOUT_S = 2.0
_ERRORS: tuple[tuple[type[Exception], int, str, str], ...] = (
    (errors.LimitRequestLine, 414, "URL_TOO_LONG", "The URL may have at most 8192 bytes"),
    (AbsurdLength, 413, "TOO_LARGE", "The content is too large"),
    (errors.LimitRequestHeaders, 431, "HEADERS_TOO_LARGE", "The headers may have at most 64 fields and 16384 bytes"),
    (errors.UnsupportedTransferCoding, 501, "UNSUPPORTED_TRANSFER_CODING", "The transfer coding must be chunked"),
    (errors.ExpectationFailed, 417, "EXPECTATION_FAILED", "The server supports only the expectation 100-continue"),
    (errors.ForbiddenProxyRequest, 403, "NOT_ALLOWED", "The server does not accept the PROXY protocol"),
    (errors.InvalidResponseHeader, 500, "INTERNAL", "An internal error occurred"),
    (errors.InvalidResponseHeaderName, 500, "INTERNAL", "An internal error occurred"),
    (errors.ConfigurationProblem, 500, "INTERNAL", "An internal error occurred"),
    (errors.ParseException, 400, "INVALID_REQUEST", "The request is not valid HTTP"),
    (Exception, 500, "INTERNAL", "An internal error occurred"),
)


@dataclass(frozen=True)
class ServerError:
    """The response to a request that the server could not read or serve."""

    status: int
    code: str
    message: str
    request_id: str


def of(exception: BaseException, headers: Iterable[tuple[str, str]]) -> ServerError:
    """Return the response to an exception; `headers` are those of the request as far as they are known."""
    request_id = next((value for name, value in headers if name == "X-REQUEST-ID"), "")
    if not REQUEST_ID.fullmatch(request_id):
        request_id = uuid.uuid4().hex
    for kind, status, code, message in _ERRORS:
        if isinstance(exception, kind):
            return ServerError(status, code, message, request_id)
    return ServerError(500, "INTERNAL", "An internal error occurred", request_id)


def send(client: socket.socket, error: ServerError) -> None:
    """Send the response and end the connection. A client that does not read it is ignored."""
    with contextlib.suppress(OSError):
        client.settimeout(SEND_TIMEOUT_S)
        client.sendall(render(error))
    linger(client)


def render(error: ServerError) -> bytes:
    """Return the whole response."""
    content = {
        "statusCode": error.status,
        "success": False,
        "message": error.message,
        "errorMessage": [],
        "code": error.code,
    }
    body = orjson.dumps(content)
    headers = {
        "Connection": "close",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "X-Request-Id": error.request_id,
        **SECURITY_HEADERS,
    }
    lines = [f"HTTP/1.1 {error.status} {HTTPStatus(error.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body
