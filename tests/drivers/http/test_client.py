"""Tests of the HTTP client with faulty servers."""

import dataclasses
import gzip
import socket
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from app.drivers.errors import UpstreamError
from app.drivers.http.client import (
    LIMITS,
    ConnectFailed,
    ConnectionDropped,
    HttpClient,
    ResponseTimeout,
    ResponseTooLarge,
    ResponseTruncated,
)
from tests.support.doubles.sockets import RawPeer, Script

HURRIED = dataclasses.replace(LIMITS, connect_timeout_s=0.3, read_timeout_s=0.3, deadline_s=0.6)
SECRET = "s3cr3t"


def answer(body: bytes, *headers: str, length: int | None = None, status: str = "200 OK") -> bytes:
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", *headers]
    return "\r\n".join([*head, "Connection: close", "", ""]).encode() + body


@pytest.fixture
def client() -> Iterator[HttpClient]:
    made = HttpClient(limits=HURRIED)
    yield made
    made.close()


def get(client: HttpClient, script: Script, **options: Any) -> Any:
    with RawPeer(script) as peer:
        return client.send("GET", f"{peer.url}/x?token={SECRET}", **options)


class TestHttpClient:
    def test_response_of_any_status_is_returned_with_headers_and_body(self, client: HttpClient) -> None:
        response = get(client, [answer(b'{"a": 1}', "ETag: 7", status="404 Not Found")])
        assert (response.status, response.headers["etag"], response.json()) == (404, "7", {"a": 1})

    def test_request_contains_json_query_and_headers(self, client: HttpClient) -> None:
        with RawPeer([answer(b"")]) as peer:
            client.send("POST", peer.url, params={"q": "a b", "r": ["1", "2"]}, json={"x": 1}, headers={"X-It": "y"})
        head = peer.heads[0].lower()
        assert head.startswith("post /?q=a+b&r=1&r=2 http/1.1")
        assert "content-type: application/json" in head
        assert "x-it: y" in head

    def test_closed_port_raises_connect_failed(self, client: HttpClient) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            with pytest.raises(ConnectFailed):
                client.send("GET", f"http://127.0.0.1:{unused.getsockname()[1]}/")

    def test_connection_closed_without_a_response_raises_connection_dropped(self, client: HttpClient) -> None:
        with pytest.raises(ConnectionDropped):
            get(client, [])

    def test_silent_server_raises_timeout(self, client: HttpClient) -> None:
        with pytest.raises(ResponseTimeout):
            get(client, [1.0])

    def test_slow_bytes_do_not_extend_the_deadline(self, client: HttpClient) -> None:
        with pytest.raises(ResponseTimeout):
            get(client, [answer(b"", length=100), *([b"x", 0.1] * 12)])

    def test_stalled_body_raises_timeout(self, client: HttpClient) -> None:
        with pytest.raises(ResponseTimeout):
            get(client, [answer(b"half", length=8), 1.0])

    @pytest.mark.parametrize(
        "script",
        [
            [answer(b"half", length=8)],
            [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nhalf"],
            [answer(gzip.compress(b"x" * 9000)[:30], "Content-Encoding: gzip", length=300)],
            [answer(b"not gzip", "Content-Encoding: gzip")],
        ],
    )
    def test_truncated_body_raises(self, client: HttpClient, script: Script) -> None:
        with pytest.raises(ResponseTruncated):
            get(client, script)

    def test_long_body_raises_response_too_large(self, client: HttpClient) -> None:
        assert len(get(client, [answer(b"x" * 100)], max_bytes=100).body) == 100
        with pytest.raises(ResponseTooLarge):
            get(client, [answer(b"x" * 101)], max_bytes=100)

    def test_compressed_body_with_a_large_content_raises_response_too_large(self, client: HttpClient) -> None:
        bomb = gzip.compress(b"\0" * 30_000_000)
        with pytest.raises(ResponseTooLarge):
            get(client, [answer(bomb, "Content-Encoding: gzip")], max_bytes=1_000_000)

    def test_html_response_read_as_json_raises_upstream_error(self, client: HttpClient) -> None:
        response = get(client, [answer(b"<html>Bad gateway</html>")])
        with pytest.raises(UpstreamError):
            response.json()

    def test_invalid_http_raises_upstream_error_or_connection_dropped(self, client: HttpClient) -> None:
        with pytest.raises((UpstreamError, ConnectionDropped)):
            get(client, [b"SSH-2.0-OpenSSH\r\n\r\n"])

    def test_redirect_is_not_followed(self, client: HttpClient) -> None:
        with RawPeer([answer(b"", "Location: /other", status="302 Found")]) as peer:
            assert client.send("GET", peer.url).status == 302
        assert len(peer.heads) == 1

    def test_response_cookie_is_not_sent_with_the_next_request(self, client: HttpClient) -> None:
        with RawPeer([answer(b"", "Set-Cookie: id=1; Path=/")]) as peer:
            client.send("GET", peer.url)
            client.send("GET", peer.url)
        assert "cookie" not in peer.heads[1].lower()

    def test_proxy_of_the_environment_is_not_used(self, client: HttpClient, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
        assert get(client, [answer(b"direct")]).body == b"direct"

    def test_log_line_contains_the_call_and_no_secret(self, client: HttpClient) -> None:
        with structlog.testing.capture_logs() as lines:
            get(client, [answer(SECRET.encode(), f"X-Secret: {SECRET}")], headers={"Authorization": f"Bearer {SECRET}"})
            with pytest.raises(ConnectionDropped):
                get(client, [])
        assert [(line["method"], line["path"], line.get("status"), line.get("failure")) for line in lines] == [
            ("GET", "/x", 200, None),
            ("GET", "/x", None, "ConnectionDropped"),
        ]
        assert SECRET not in str(lines)
