"""The client for HTTP calls to other services, limited in time and size. It does not retry.

Sessions follow no redirects, store no cookies and read no proxy, credential or certificate from the environment.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit

import orjson
import requests
import structlog
from requests.structures import CaseInsensitiveDict
from urllib3.exceptions import HTTPError, NewConnectionError, ReadTimeoutError

from app.concurrency.cancellation import Cancellation
from app.core import outbound
from app.core.errors import ErrorMessage
from app.core.limits import OutboundLimits
from app.drivers.errors import UpstreamError, UpstreamTimeout, UpstreamUnavailable
from app.drivers.http.pool import PoolAdapter, cancellable
from app.drivers.http.streaming import (
    PIECE_BYTES,
    CallCancelled,
    ResponseTimeout,
    ResponseTruncated,
    StreamingResponse,
    StreamTimeouts,
)
from app.observability import correlation
from app.observability.tracing import tracer

__all__ = [
    "ConnectFailed",
    "ConnectionDropped",
    "HttpClient",
    "HttpResponse",
    "ResponseTimeout",
    "ResponseTooLarge",
    "ResponseTruncated",
]

log = structlog.get_logger(__name__)

LIMITS = OutboundLimits()
POOL_SIZE = 32


class ConnectFailed(UpstreamUnavailable):
    """A connection that was not established. The call cannot have taken effect."""


class ConnectionDropped(UpstreamUnavailable):
    """A connection that ended before the response. The call may have taken effect."""


class ResponseTooLarge(UpstreamError):
    """A response that is longer than the call allows."""


@dataclass(frozen=True)
class HttpResponse:
    """A complete response of any status."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Parse the body as JSON. Raises UpstreamError for other content, for example the error page of a proxy."""
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError as fault:
            raise UpstreamError("The response of the other service is not JSON") from fault


class HttpClient:
    """The client for HTTP calls. Safe to share between threads and greenlets."""

    def __init__(
        self, *, user_agent: str = "galley", limits: OutboundLimits = LIMITS, pool_size: int = POOL_SIZE
    ) -> None:
        self._limits = limits
        self._session = session = requests.Session()
        session.trust_env = False
        session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        session.headers["User-Agent"] = user_agent
        adapter = PoolAdapter(pool_connections=POOL_SIZE, pool_maxsize=pool_size, max_retries=0)
        session.mount("http://", adapter)
        session.mount("https://", adapter)

    def close(self) -> None:
        """Close the idle connections."""
        self._session.close()

    def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str | list[str]] | None = None,
        json: object = None,
        form: Mapping[str, str] | None = None,
        content: bytes | None = None,
        basic: tuple[str, str] | None = None,
        max_bytes: int | None = None,
        deadline_s: float | None = None,
    ) -> HttpResponse:
        """Make one call and read the complete response of at most `max_bytes` (10 MiB, decompressed).

        It ends within `deadline_s` (default and maximum: 30 s).

        Raises:
            ConnectFailed, ConnectionDropped, ResponseTimeout, ResponseTruncated, ResponseTooLarge: the response is
            incomplete.
        """
        start = time.monotonic()
        within_s = min(deadline_s or self._limits.deadline_s, self._limits.deadline_s)
        body, kind = (
            (content or form, {}) if json is None else (orjson.dumps(json), {"Content-Type": "application/json"})
        )
        request = requests.Request(
            method, url, headers={**kind, **(headers or {})}, params=params, data=body, auth=basic
        )
        try:
            answer = self._exchange(request, start + within_s, max_bytes or self._limits.body_bytes)
        except (UpstreamUnavailable, UpstreamError, UpstreamTimeout) as failure:
            _note(method, url, start, failure=type(failure).__name__)
            raise
        _note(method, url, start, status=answer.status, upstream_id=_new_to(headers or {}, answer))
        return answer

    def stream(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        json: object,
        timeouts: StreamTimeouts,
        cancellation: Cancellation | None = None,
    ) -> StreamingResponse:
        """Make one call and wait for the head of the response. The caller closes the response.

        `cancellation` ends the call at any time.

        Raises:
            ConnectFailed, ConnectionDropped, ResponseTimeout: no head arrived.
            CallCancelled: the call was cancelled.
        """
        start, cancellation = time.monotonic(), cancellation or Cancellation()
        # Compression would delay events until a block is full.
        kind = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        request = requests.Request(method, url, headers={**kind, **headers}, data=orjson.dumps(json))
        timeout_s = (min(timeouts.connect_s, timeouts.total_s), min(timeouts.first_byte_s, timeouts.total_s))
        try:
            response = self._send_under(cancellation, request, timeout_s)
        except (UpstreamUnavailable, UpstreamError, UpstreamTimeout) as failure:
            _note(method, url, start, failure=type(failure).__name__)
            raise
        _note(method, url, start, status=response.status_code, upstream_id=_new_to(headers, response))
        answer = StreamingResponse(response.raw, idle_s=timeouts.idle_s, until=start + timeouts.total_s)
        cancellation.on_cancel(answer.close)
        return answer

    def _exchange(self, request: requests.Request, until: float, max_bytes: int) -> HttpResponse:
        remaining_s = until - time.monotonic()
        timeout_s = (min(self._limits.connect_timeout_s, remaining_s), min(self._limits.read_timeout_s, remaining_s))
        with self._send(request, timeout_s) as response:
            body = b"".join(_pieces(response, until=until, max_bytes=max_bytes))
        return HttpResponse(response.status_code, CaseInsensitiveDict(response.headers), body)

    def _send_under(
        self, cancellation: Cancellation, request: requests.Request, timeout_s: tuple[float, float]
    ) -> requests.Response:
        if cancellation.cancelled:
            raise CallCancelled("The call was cancelled")
        try:
            with cancellable(cancellation):
                return self._send(request, timeout_s)
        except Exception as fault:  # a read of a socket that is being shut down may raise any exception
            if cancellation.cancelled:
                raise CallCancelled("The call was cancelled") from fault
            raise

    def _send(self, request: requests.Request, timeout_s: tuple[float, float]) -> requests.Response:
        outbound.before_call("http")
        try:
            prepared = self._session.prepare_request(request)
            host = urlsplit(prepared.url or "").hostname or "-"
            with tracer.span(f"{request.method} {host}", "CLIENT", server__address=host):
                prepared.headers.update(correlation.trace_headers())
                return self._session.send(prepared, timeout=timeout_s, allow_redirects=False, stream=True)
        except (requests.exceptions.ConnectTimeout, requests.exceptions.SSLError) as fault:
            raise ConnectFailed("The external service cannot be reached") from fault
        except requests.exceptions.Timeout as fault:
            raise ResponseTimeout(ErrorMessage("The external service did not respond in time")) from fault
        except requests.exceptions.ConnectionError as fault:
            raise _connection_failure(fault) from fault
        except (requests.exceptions.RequestException, HTTPError) as fault:
            raise UpstreamError("The external service sent an invalid HTTP response") from fault


def _pieces(response: requests.Response, *, until: float, max_bytes: int) -> Iterator[bytes]:
    """Yield the body as it arrives. A slow peer cannot extend the call beyond its deadline."""
    remaining = max_bytes
    try:
        while piece := response.raw.read1(PIECE_BYTES, decode_content=True):
            remaining -= len(piece)
            if remaining < 0:
                raise ResponseTooLarge(f"The external service sent more than {max_bytes:,} bytes")
            if time.monotonic() > until:
                raise ResponseTimeout("The external service did not complete its response in time")
            yield piece
    except ReadTimeoutError as fault:
        raise ResponseTimeout("The external service did not complete its response in time") from fault
    except (HTTPError, OSError) as fault:
        raise ResponseTruncated("The response of the other service was truncated") from fault


def _connection_failure(fault: requests.exceptions.ConnectionError) -> UpstreamUnavailable:
    reason = getattr(fault.args[0], "reason", None) if fault.args else None
    if isinstance(reason, NewConnectionError):
        return ConnectFailed("The external service cannot be reached")
    return ConnectionDropped("The connection to the external service was lost")


def _new_to(sent: Mapping[str, str], answer: HttpResponse | requests.Response) -> str | None:
    """Return the request id of the other service, unless it repeats a value that was sent, such as a key."""
    request_id = answer.headers.get("X-Request-Id")
    return (
        request_id
        if request_id and not any(request_id in value or value in request_id for value in sent.values())
        else None
    )


def _note(method: str, url: str, start: float, **fields: object) -> None:
    """Log one line per call: host and path, but not the query, headers or bodies, which may contain secrets."""
    where = urlsplit(url)
    taken_ms = round((time.monotonic() - start) * 1000)
    log.info("outbound.call", method=method, host=where.netloc, path=where.path, ms=taken_ms, **fields)
