"""The only way out of a jail while it installs: an HTTP proxy that connects to a list of hosts and to nothing else."""

import contextlib
import socket
import threading
from urllib.parse import urlsplit

PIECE_BYTES = 64 * 1024
HEAD_BYTES = 16 * 1024
TIMEOUT_S = 60
CONNECTIONS = 64
HTTPS_PORT = 443


class Egress:
    """Serves one listening socket until it is closed; then every connection it carried is cut as well.

    `allowed` holds host names, reached on port 443, and `host:port` pairs.
    """

    def __init__(self, listener: socket.socket, allowed: list[str]) -> None:
        self._listener = listener
        self._allowed = {name if ":" in name else f"{name}:{HTTPS_PORT}" for name in map(str.lower, allowed)}
        self._open: set[socket.socket] = set()
        self._closed = False
        self._room = threading.BoundedSemaphore(CONNECTIONS)

    def start(self) -> None:
        """Serve in threads of its own."""
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Let nobody out any more."""
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
            self._room.acquire()
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client, contextlib.suppress(OSError, ValueError):
                client.settimeout(TIMEOUT_S)
                self._open.add(client)
                self._exchange(client)
        finally:
            self._open.discard(client)
            self._room.release()

    def _check_open(self) -> None:
        """It may have been closed while a connection was made."""
        if self._closed:
            raise ConnectionError

    def _exchange(self, client: socket.socket) -> None:
        head, rest = _read_head(client)
        method, target, version = head.split(b"\r\n", 1)[0].decode("ascii").split(" ", 2)
        tunnel = method == "CONNECT"
        place = target if tunnel else urlsplit(target).netloc
        host, _, port = place.lower().rpartition(":") if ":" in place else (place.lower(), "", "80")
        if self._closed or f"{host}:{port}" not in self._allowed:
            client.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        with socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as upstream:
            self._open.add(upstream)
            try:
                self._check_open()
                if tunnel:
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    upstream.sendall(rest)
                else:
                    upstream.sendall(_relative(head, method, target, version) + rest)
                _both_ways(client, upstream)
            finally:
                self._open.discard(upstream)


def _read_head(client: socket.socket) -> tuple[bytes, bytes]:
    """A request's head, and what already came behind it."""
    read = b""
    while b"\r\n\r\n" not in read:
        piece = client.recv(PIECE_BYTES)
        if not piece or len(read) > HEAD_BYTES:
            raise ValueError("no request")
        read += piece
    head, _, rest = read.partition(b"\r\n\r\n")
    return head, rest


def _relative(head: bytes, method: str, target: str, version: str) -> bytes:
    """The head as its server wants it: without the proxy's form of the address, one request a connection."""
    parts = urlsplit(target)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = head.split(b"\r\n")[1:]
    kept = [line for line in lines if not line.lower().startswith((b"proxy-", b"connection:"))]
    return b"\r\n".join([f"{method} {path} {version}".encode(), *kept, b"Connection: close", b"", b""])


def _both_ways(one: socket.socket, other: socket.socket) -> None:
    back = threading.Thread(target=_carry, args=(other, one), daemon=True)
    back.start()
    _carry(one, other)
    back.join()


def _carry(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(PIECE_BYTES):
            sink.sendall(piece)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
