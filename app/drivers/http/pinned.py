"""The client for calls to URLs that users enter. It connects only to addresses that it has checked.

A name is resolved once for each call, and every address must be public or in a network that the operator permits. The
connection uses one of these addresses with the name in TLS and in `Host`, so a name that changes its addresses cannot
lead to another machine. The client follows no redirects, reads no proxy from the environment and keeps no connection.
"""

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

import structlog
from requests.utils import DEFAULT_CA_BUNDLE_PATH

from app.concurrency.bounded import ConcurrencyLimiter
from app.concurrency.timer import ticker
from app.core import outbound
from app.core.urls import HttpUrl, Network, is_in_networks, is_public
from app.drivers.errors import DriverError
from app.drivers.http.pool import shut
from app.observability.tracing import tracer

log = structlog.get_logger(__name__)

DEADLINE_S, RESOLVE_S, CONNECT_S, FIRST_BYTE_S, BODY_S = 20.0, 5.0, 5.0, 5.0, 2.0
"""Limits of the whole call, and of its steps: the name, the connection, the start of the response, and the body."""
MAX_BODY_BYTES = 64 * 1024
MAX_CALLS_PER_ORGANIZATION, MAX_CALLS = 2, 16
"""Calls at a time of a worker. The receivers of one organization cannot hold those of others."""
MAX_ADDRESSES = 3
"""Addresses of a name that are tried one after another."""

Resolve = Callable[[str, int], Sequence[str]]


class CallFailure(StrEnum):
    """The reason why a call has no response."""

    NOT_RESOLVED = "name_not_resolved"
    REFUSED = "address_not_permitted"
    NOT_CONNECTED = "connection_failed"
    INSECURE = "tls_failed"
    LATE = "timeout"
    DROPPED = "connection_lost"
    INVALID = "invalid_response"


class PinnedCallFailed(DriverError):
    """A call without a response."""

    def __init__(self, reason: CallFailure) -> None:
        super().__init__(f"The call of a webhook failed: {reason}")
        self.reason = reason


@dataclass(frozen=True)
class PinnedResponse:
    """The head of a response and the first bytes of its body."""

    status: int
    retry_after: str | None
    body: bytes


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host. Raises OSError."""
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(answer[4][0]) for answer in answers))


class PinnedClient:
    """The client for URLs of users. Safe to share between threads."""

    def __init__(
        self,
        *,
        allowed_networks: Sequence[Network] = (),
        resolver: Resolve = resolve,
        deadline_s: float = DEADLINE_S,
        first_byte_s: float = FIRST_BYTE_S,
        certificates: str | None = None,
    ) -> None:
        self._allowed, self._resolver, self._deadline_s = tuple(allowed_networks), resolver, deadline_s
        self._first_byte_s = first_byte_s
        self.calls = ConcurrencyLimiter(per_key=MAX_CALLS_PER_ORGANIZATION, total=MAX_CALLS)
        self._certificates = certificates
        self._context: ssl.SSLContext | None = None

    def addresses_of(self, url: HttpUrl) -> list[str]:
        """Return the addresses of a URL, which may all be called.

        Raises:
            PinnedCallFailed: the name cannot be resolved, or one of its addresses is not permitted.
        """
        addresses = self._resolve(url)
        is_inside = [is_in_networks(address, self._allowed) for address in addresses]
        permitted = all(map(is_public, addresses)) if not any(is_inside) else all(is_inside)
        if not permitted or not (url.is_secure or all(is_inside)):
            raise PinnedCallFailed(CallFailure.REFUSED)
        return addresses

    def post(self, url: HttpUrl, headers: Mapping[str, str], body: bytes) -> PinnedResponse:
        """Send one POST and return the response of any status.

        Raises:
            PinnedCallFailed: no connection or no first byte of a response within 5 s each, or no response within 20 s.
        """
        outbound.before_call("webhook")
        start = time.monotonic()
        with tracer.span(f"POST {url.host}", "CLIENT", server__address=url.host):
            try:
                response = self._exchange(url, headers, body, start + self._deadline_s)
            except PinnedCallFailed as failure:
                _note(url, start, failure=str(failure.reason))
                raise
        _note(url, start, status=response.status)
        return response

    def _resolve(self, url: HttpUrl) -> list[str]:
        """Resolve a name in a thread, because the resolver of the system has no time limit."""
        outcomes: list[list[str]] = []

        def run() -> None:
            with contextlib.suppress(OSError, UnicodeError):
                outcomes.append(list(self._resolver(url.host, url.port)))

        thread = threading.Thread(target=run, name="resolve", daemon=True)
        thread.start()
        thread.join(RESOLVE_S)
        if not outcomes or not outcomes[0]:
            raise PinnedCallFailed(CallFailure.NOT_RESOLVED)
        return outcomes[0]

    def _exchange(self, url: HttpUrl, headers: Mapping[str, str], body: bytes, until: float) -> PinnedResponse:
        addresses = self.addresses_of(url)[:MAX_ADDRESSES]
        with _Deadline(until) as deadline:
            connection = _PinnedConnection(url, addresses, self._tls() if url.is_secure else None, deadline)
            connection.response_class = partial(_WatchedResponse, deadline)  # type: ignore[assignment]
            try:
                connection.request("POST", url.target, body=body, headers=dict(headers))
                deadline.until = min(until, time.monotonic() + self._first_byte_s)
                with connection.getresponse() as response:
                    if deadline.is_over:  # The end of the connection also ends the headers.
                        raise TimeoutError
                    deadline.until = min(until, time.monotonic() + BODY_S)
                    return PinnedResponse(response.status, response.getheader("Retry-After"), _start_of(response))
            except (OSError, http.client.HTTPException, ValueError) as fault:
                raise PinnedCallFailed(_reason(fault, deadline)) from fault
            finally:
                connection.close()

    def _tls(self) -> ssl.SSLContext:
        """Return the context of TLS, which is created at the first call: it reads the certificates from a file."""
        if self._context is None:
            self._context = ssl.create_default_context(cafile=self._certificates or DEFAULT_CA_BUNDLE_PATH)
        return self._context


class _Deadline:
    """A time limit that ends a call, also if the peer sends single bytes."""

    def __init__(self, until: float) -> None:
        self.until, self.end, self.is_over = until, until, False
        self._socket: socket.socket | None = None

    def __enter__(self) -> "_Deadline":
        ticker.register(self)
        return self

    def __exit__(self, *_: object) -> None:
        ticker.unregister(self)

    def remaining_s(self, at_most: float = DEADLINE_S) -> float:
        return max(0.01, min(at_most, self.until - time.monotonic()))

    def watch(self, connection: socket.socket) -> None:
        """End this socket when the time is over."""
        self._socket = connection

    def tick(self, now_s: float) -> None:
        if now_s >= self.until and self._socket is not None:
            self.is_over = True
            shut(self._socket)


class _WatchedResponse(http.client.HTTPResponse):
    """A response whose first byte has a deadline. From then on, the one of the call applies."""

    def __init__(self, deadline: _Deadline, sock: socket.socket, **options: Any) -> None:
        super().__init__(sock, **options)
        self._deadline = deadline

    def begin(self) -> None:
        """Wait for the first byte, and read the head."""
        self.fp.peek(1)
        self._deadline.until = self._deadline.end
        super().begin()


class _PinnedConnection(http.client.HTTPConnection):
    """A connection to the first of some addresses that accepts it, with the name of the URL in TLS and in `Host`."""

    def __init__(self, url: HttpUrl, addresses: Sequence[str], tls: ssl.SSLContext | None, deadline: _Deadline) -> None:
        self.default_port = 443 if url.is_secure else 80
        super().__init__(url.host, url.port)
        self._addresses, self._tls, self._deadline = addresses, tls, deadline

    def connect(self) -> None:
        """Connect to an address. Raises OSError."""
        connection = self._first()
        self._deadline.watch(connection)
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                # The handshake follows: until then the deadline cannot end the new object.
                secured = self._tls.wrap_socket(connection, server_hostname=self.host, do_handshake_on_connect=False)
                connection = secured
                self._deadline.watch(secured)
                secured.settimeout(self._deadline.remaining_s(CONNECT_S))
                secured.do_handshake()
            connection.settimeout(self._deadline.remaining_s())
        except BaseException:
            connection.close()
            raise
        self.sock = connection

    def _first(self) -> socket.socket:
        for number, address in enumerate(self._addresses, 1):
            try:
                return socket.create_connection((address, self.port), self._deadline.remaining_s(CONNECT_S))
            except OSError:
                if number == len(self._addresses):
                    raise
        raise AssertionError("there is at least one address")


def _start_of(response: http.client.HTTPResponse) -> bytes:
    """Return the first bytes of a body. The status decides, so an incomplete body is no failure."""
    pieces, size = [], 0
    with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
        while size < MAX_BODY_BYTES and (piece := response.read1(MAX_BODY_BYTES - size)):
            pieces.append(piece)
            size += len(piece)
    return b"".join(pieces)


def _reason(fault: Exception, deadline: _Deadline) -> CallFailure:
    if deadline.is_over or isinstance(fault, TimeoutError):
        return CallFailure.LATE
    if isinstance(fault, ssl.SSLError):
        return CallFailure.INSECURE
    if isinstance(fault, http.client.RemoteDisconnected | ConnectionResetError | BrokenPipeError):
        return CallFailure.DROPPED
    return CallFailure.NOT_CONNECTED if isinstance(fault, OSError) else CallFailure.INVALID


def _note(url: HttpUrl, start: float, **fields: object) -> None:
    """Log one line per call without the path, which is a secret of deploy hooks."""
    taken_ms = round((time.monotonic() - start) * 1000)
    log.info("outbound.call", method="POST", host=f"{url.host}:{url.port}", ms=taken_ms, **fields)
