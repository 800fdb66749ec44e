"""Minimal browser for previews: resolves `*.localhost` to loopback, stores cookies by host, opens WebSockets."""

import base64
import http.client
import json
import os
import socket
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urljoin, urlsplit


@dataclass
class VisitorResponse:
    """A response with its body."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Visitor:
    """The cookies by host name. Redirects are followed only with `follow`."""

    cookies: dict[str, dict[str, str]] = field(default_factory=dict)

    def send(
        self, method: str, url: str, body: Any = None, headers: dict[str, str] | None = None, *, timeout_s: float = 60
    ) -> VisitorResponse:
        parts = urlsplit(url)
        connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=timeout_s)
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        given = {"Host": parts.netloc, "Cookie": self.cookie(parts.netloc)}
        given |= {"Content-Type": "application/json"} if data is not None else {}
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request(method, path, data, {**given, **(headers or {})})
        response = connection.getresponse()
        for line in response.headers.get_all("Set-Cookie") or []:
            for name, morsel in SimpleCookie(line).items():
                self.cookies.setdefault(parts.netloc, {})[name] = morsel.value
        got = VisitorResponse(response.status, response.headers, response.read())
        connection.close()
        return got

    def get(self, url: str, headers: dict[str, str] | None = None) -> VisitorResponse:
        return self.send("GET", url, headers=headers)

    def follow(self, url: str) -> VisitorResponse:
        """Send GET and follow the redirects."""
        for _ in range(5):
            response = self.get(url)
            if response.status not in (301, 302, 303, 307, 308):
                return response
            url = urljoin(url, response.headers["Location"])
        raise AssertionError("redirected in circles")

    def cookie(self, host: str) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.get(host, {}).items())

    def websocket(self, url: str) -> "WebSocket":
        """Open a WebSocket.

        Raises:
            AssertionError: the upgrade is refused.
        """
        parts = urlsplit(url)
        connection = socket.create_connection(("127.0.0.1", parts.port or 80), timeout=30)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {parts.path} HTTP/1.1", f"Host: {parts.netloc}", "Connection: keep-alive, Upgrade"]
        lines += ["Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}"]
        lines += [f"Origin: http://{parts.netloc}", f"Cookie: {self.cookie(parts.netloc)}", "", ""]
        connection.sendall("\r\n".join(lines).encode())
        head = b""
        while b"\r\n\r\n" not in head:
            piece = connection.recv(1)
            assert piece, head
            head += piece
        if not head.startswith(b"HTTP/1.1 101 "):
            connection.close()
            raise AssertionError(head)
        return WebSocket(connection)


class WebSocket:
    """Text frames of an open connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection

    def send(self, text: str) -> None:
        data, mask = text.encode(), os.urandom(4)
        assert len(data) < 126
        masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))
        self.connection.sendall(bytes([0x81, 0x80 | len(data)]) + mask + masked)

    def receive(self) -> str:
        first, length = self._exactly(2)
        if length == 126:
            length = int.from_bytes(self._exactly(2))
        data = self._exactly(length)
        assert first & 0x0F == 1, (first, data)
        return data.decode()

    def _exactly(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            piece = self.connection.recv(count - len(found))
            if not piece:
                raise ConnectionError("closed")
            found += piece
        return found

    def close(self) -> None:
        self.connection.close()
