"""The one way out: plain HTTP calls to other services, bounded in time and size; knows no service and retries nothing.

Sessions follow no redirect, keep no cookie and read no proxy, credential or certificate from the environment.
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

from app.core.cancellation import Cancellation
from app.core.limits import OutboundLimits
from app.core.tracing import tracer
from app.drivers.errors import Absent, Broken, Late
from app.drivers.http_pool import PoolAdapter, under
from app.drivers.http_streaming import PIECE_BYTES, Cancelled, Cut, Patience, StreamedAnswer, TimedOut

__all__ = ["Answer", "ConnectionLost", "Cut", "HttpClient", "TimedOut", "TooLong", "Unreachable"]

log = structlog.get_logger(__name__)

LIMITS = OutboundLimits()
POOL_SIZE = 32


class Unreachable(Absent):
    """No connection was made, so nothing can have taken effect."""


class ConnectionLost(Absent):
    """The connection ended before an answer came; what was asked for may have taken effect."""


class TooLong(Broken):
    """The answer is longer than the call allows."""


@dataclass(frozen=True)
class Answer:
    """A whole answer, whatever its status."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON. Raises Broken when it is something else (a proxy's error page)."""
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError as fault:
            raise Broken("The other service answered with something that is not JSON") from fault


class HttpClient:
    """Makes calls; safe to share between threads and greenlets."""

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
        """Close the kept connections."""
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
    ) -> Answer:
        """Make one call and read its whole answer, of `max_bytes` (10 MiB) at most once decompressed.

        It ends within `deadline_s` (30 s, which is also the most).

        Raises:
            Unreachable, ConnectionLost, TimedOut, Cut, TooLong: no whole answer came.
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
        except (Absent, Broken, Late) as failure:
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
        patience: Patience,
        cancellation: Cancellation | None = None,
    ) -> StreamedAnswer:
        """Make one call and wait for the head of its answer only; whoever gets it closes it.

        `cancellation` ends it at any moment, be it before the head or amid the body.

        Raises:
            Unreachable, ConnectionLost, TimedOut: no head came.
            Cancelled: it was given up.
        """
        start, cancellation = time.monotonic(), cancellation or Cancellation()
        # Compressed, a stream would come in lumps.
        kind = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        request = requests.Request(method, url, headers={**kind, **headers}, data=orjson.dumps(json))
        timeout_s = (min(patience.connect_s, patience.total_s), min(patience.first_byte_s, patience.total_s))
        try:
            response = self._send_under(cancellation, request, timeout_s)
        except (Absent, Broken, Late) as failure:
            _note(method, url, start, failure=type(failure).__name__)
            raise
        _note(method, url, start, status=response.status_code, upstream_id=_new_to(headers, response))
        answer = StreamedAnswer(response.raw, idle_s=patience.idle_s, until=start + patience.total_s)
        cancellation.ends_with(answer.close)
        return answer

    def _exchange(self, request: requests.Request, until: float, max_bytes: int) -> Answer:
        left_s = until - time.monotonic()
        timeout_s = (min(self._limits.connect_timeout_s, left_s), min(self._limits.read_timeout_s, left_s))
        with self._send(request, timeout_s) as response:
            body = b"".join(_pieces(response, until=until, max_bytes=max_bytes))
        return Answer(response.status_code, CaseInsensitiveDict(response.headers), body)

    def _send_under(
        self, cancellation: Cancellation, request: requests.Request, timeout_s: tuple[float, float]
    ) -> requests.Response:
        if cancellation.cancelled:
            raise Cancelled("Given up")
        try:
            with under(cancellation):
                return self._send(request, timeout_s)
        except Exception as fault:  # a socket that is shut while it is read may raise anything
            if cancellation.cancelled:
                raise Cancelled("Given up") from fault
            raise

    def _send(self, request: requests.Request, timeout_s: tuple[float, float]) -> requests.Response:
        try:
            prepared = self._session.prepare_request(request)
            host = urlsplit(prepared.url or "").hostname or "-"
            with tracer.span(f"{request.method} {host}", "CLIENT", server__address=host):
                return self._session.send(prepared, timeout=timeout_s, allow_redirects=False, stream=True)
        except (requests.exceptions.ConnectTimeout, requests.exceptions.SSLError) as fault:
            raise Unreachable("The other service cannot be reached") from fault
        except requests.exceptions.Timeout as fault:
            raise TimedOut("The other service did not answer in time") from fault
        except requests.exceptions.ConnectionError as fault:
            raise _connection_failure(fault) from fault
        except (requests.exceptions.RequestException, HTTPError) as fault:
            raise Broken("The other service does not speak proper HTTP") from fault


def _pieces(response: requests.Response, *, until: float, max_bytes: int) -> Iterator[bytes]:
    """The body as it arrives; a peer that drips bytes cannot stretch the call beyond its deadline."""
    left = max_bytes
    try:
        while piece := response.raw.read1(PIECE_BYTES, decode_content=True):
            left -= len(piece)
            if left < 0:
                raise TooLong(f"The other service sent more than {max_bytes:,} bytes")
            if time.monotonic() > until:
                raise TimedOut("The other service did not finish its answer in time")
            yield piece
    except ReadTimeoutError as fault:
        raise TimedOut("The other service did not finish its answer in time") from fault
    except (HTTPError, OSError) as fault:
        raise Cut("The other service's answer was cut short") from fault


def _connection_failure(fault: requests.exceptions.ConnectionError) -> Absent:
    reason = getattr(fault.args[0], "reason", None) if fault.args else None
    if isinstance(reason, NewConnectionError):
        return Unreachable("The other service cannot be reached")
    return ConnectionLost("The connection to the other service was lost")


def _new_to(sent: Mapping[str, str], answer: Answer | requests.Response) -> str | None:
    """What the other side calls the request, unless that repeats something it was sent, such as a key."""
    told = answer.headers.get("X-Request-Id")
    return told if told and not any(told in value or value in told for value in sent.values()) else None


def _note(method: str, url: str, start: float, **told: object) -> None:
    """One line a call: host and path, never the query, headers or bodies, where secrets may stand."""
    where = urlsplit(url)
    taken_ms = round((time.monotonic() - start) * 1000)
    log.info("outbound.call", method=method, host=where.netloc, path=where.path, ms=taken_ms, **told)
