"""HTTP proxy of a jail. It connects to a list of hosts, or to every public address if the project permits it."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from app.core.urls import is_public

OnHost = Callable[[str], None]

CHUNK_BYTES = 64 * 1024
HEAD_BYTES = 16 * 1024
TIMEOUT_S = 60
MAX_CONNECTIONS = 64
ADDRESS_S, RETRY_PAUSE_S = 30, 0.5
HTTPS_PORT = 443
PUBLIC_PORTS = ("80", "443")
UNREACHABLE = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
FORBIDDEN = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class HostAddresses:
    """Addresses of hosts, for 30 s each. A failed look-up is repeated once: busy resolvers lose requests."""

    def __init__(self, lifetime_s: float = ADDRESS_S, pause_s: float = RETRY_PAUSE_S) -> None:
        self._lifetime_s, self._pause_s = lifetime_s, pause_s
        self._results: dict[str, tuple[float, list[str]]] = {}

    def addresses(self, host: str) -> list[str]:
        """Return the addresses of a host in the order of the resolver. Raises OSError."""
        looked_up_at, addresses = self._results.get(host, (0.0, []))
        if addresses and time.monotonic() - looked_up_at < self._lifetime_s:
            return addresses
        try:
            addresses = self._resolve(host)
        except OSError:
            time.sleep(self._pause_s)
            addresses = self._resolve(host)
        self._results[host] = (time.monotonic(), addresses)
        return addresses

    @staticmethod
    def _resolve(host: str) -> list[str]:
        entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


class Egress:
    """Proxy on one listening socket. Closing it also closes its connections.

    `allowed` contains host names for port 443 and `host:port` pairs. After `permit_public` the proxy also connects to
    public addresses on the ports 80 and 443. `on_refused` receives each refused host, `on_unreachable` each permitted
    host without a connection, both as `host:port`.
    """

    def __init__(self, listener: socket.socket, allowed: list[str], on_refused: OnHost, on_unreachable: OnHost) -> None:
        self._listener, self._is_public = listener, False
        self._on_refused, self._on_unreachable = on_refused, on_unreachable
        self._allowed = {name if ":" in name else f"{name}:{HTTPS_PORT}" for name in map(str.lower, allowed)}
        self._open: set[socket.socket] = set()
        self._closed = False
        self._addresses_of = HostAddresses()
        self._slots = threading.BoundedSemaphore(MAX_CONNECTIONS)

    def start(self) -> None:
        """Serve in background threads."""
        threading.Thread(target=self._accept, daemon=True).start()

    def permit_public(self) -> None:
        """Also connect to public addresses from now on."""
        self._is_public = True

    def close(self) -> None:
        """Close the listener and all connections."""
        self._closed = True
        for connection in [self._listener, *self._open]:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._slots.acquire()
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client, contextlib.suppress(OSError, ValueError):
                client.settimeout(TIMEOUT_S)
                self._open.add(client)
                self._exchange(client)
        finally:
            self._open.discard(client)
            self._slots.release()

    def _check_open(self) -> None:
        """Raise ConnectionError if the proxy was closed while the connection was opened."""
        if self._closed:
            raise ConnectionError

    def _exchange(self, client: socket.socket) -> None:
        head, body = _read_head(client)
        method, target, version = head.split(b"\r\n", 1)[0].decode("ascii").split(" ", 2)
        is_tunnel = method == "CONNECT"
        netloc = (target if is_tunnel else urlsplit(target).netloc).lower()
        host, _, port = netloc.rpartition(":") if ":" in netloc else (netloc, "", "80")
        try:
            addresses = None if self._closed else self._addresses(host, port)
            upstream = None if not addresses else _connect(addresses, int(port))
        except OSError:
            self._on_unreachable(f"{host}:{port}")
            client.sendall(UNREACHABLE)
            return
        if upstream is None:
            self._on_refused(f"{host}:{port}")
            client.sendall(FORBIDDEN)
            return
        with upstream:
            self._open.add(upstream)
            try:
                self._check_open()
                if is_tunnel:
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    upstream.sendall(body)
                else:
                    upstream.sendall(_relative(head, method, target, version) + body)
                _copy_both(client, upstream)
            finally:
                self._open.discard(upstream)

    def _addresses(self, host: str, port: str) -> list[str]:
        """Return what to connect to, or an empty list if the host is refused. Raises OSError."""
        if f"{host}:{port}" in self._allowed:
            return self._addresses_of.addresses(host)
        if not self._is_public or port not in PUBLIC_PORTS:
            return []
        return [address for address in self._addresses_of.addresses(host) if is_public(address)]


def _connect(addresses: list[str], port: int) -> socket.socket:
    """Connect to the first address that accepts. Raises OSError."""
    for address in addresses[:-1]:
        with contextlib.suppress(OSError):
            return socket.create_connection((address, port), timeout=TIMEOUT_S)
    return socket.create_connection((addresses[-1], port), timeout=TIMEOUT_S)


def _read_head(client: socket.socket) -> tuple[bytes, bytes]:
    """Return the head of a request and the bytes that follow it."""
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = client.recv(CHUNK_BYTES)
        if not chunk or len(data) > HEAD_BYTES:
            raise ValueError("The request has no complete head")
        data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    return head, body


def _relative(head: bytes, method: str, target: str, version: str) -> bytes:
    """Return the head in origin form, without proxy headers, for one request per connection."""
    parts = urlsplit(target)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = head.split(b"\r\n")[1:]
    headers = [line for line in lines if not line.lower().startswith((b"proxy-", b"connection:"))]
    return b"\r\n".join([f"{method} {path} {version}".encode(), *headers, b"Connection: close", b"", b""])


def _copy_both(client: socket.socket, upstream: socket.socket) -> None:
    reader = threading.Thread(target=_copy, args=(upstream, client), daemon=True)
    reader.start()
    _copy(client, upstream)
    reader.join()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(CHUNK_BYTES):
            sink.sendall(chunk)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
