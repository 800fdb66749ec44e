"""Tests of the client for URLs of users: addresses, TLS, and receivers that misbehave."""

import ipaddress
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import structlog

from app.core.urls import HttpUrl, parse_http_url
from app.drivers.http.pinned import MAX_BODY_BYTES, CallFailure, PinnedCallFailed, PinnedClient
from tests.support.doubles.certificates import self_signed
from tests.support.doubles.sockets import RawPeer, Script

LOOPBACK = (ipaddress.ip_network("127.0.0.1/32"), ipaddress.ip_network("::1/128"))
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
SECRET = "5f0c6d2b4d1e"


def _url(text: str) -> HttpUrl:
    url = parse_http_url(text)
    assert url is not None
    return url


class Names:
    """A resolver whose name has other addresses at each call."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)

    def __call__(self, _host: str, _port: int) -> Sequence[str]:
        return self.answers.pop(0)


def _client(*answers: Sequence[str], deadline_s: float = 2.0) -> PinnedClient:
    if not answers:
        return PinnedClient(allowed_networks=LOOPBACK, deadline_s=deadline_s)
    return PinnedClient(allowed_networks=LOOPBACK, resolver=Names(*answers), deadline_s=deadline_s)


def _failure(client: PinnedClient, url: str) -> CallFailure:
    with pytest.raises(PinnedCallFailed) as raised:
        client.post(_url(url), {}, b"{}")
    return raised.value.reason


class TestAddresses:
    @pytest.mark.parametrize(
        "addresses",
        [
            ["10.0.0.1"],
            ["127.0.0.2"],
            ["169.254.169.254"],
            ["1.1.1.1", "10.0.0.1"],
            ["1.1.1.1", "127.0.0.1"],
            ["::ffff:10.0.0.1"],
            ["2002:7f00:1::"],
            ["64:ff9b::7f00:1"],
            ["64:ff9b:1::1"],
            ["192.88.99.1"],
            ["fe80::1%eth0"],
            ["::"],
            ["0.0.0.0"],  # noqa: S104
            ["224.0.0.1"],
        ],
    )
    def test_name_with_an_inside_address_is_refused(self, addresses: list[str]) -> None:
        assert _failure(_client(addresses), "https://hooks.example.org/") == CallFailure.REFUSED

    def test_public_address_needs_tls(self) -> None:
        assert _failure(_client(["1.1.1.1"]), "http://hooks.example.org/") == CallFailure.REFUSED
        assert _client(["1.1.1.1"]).addresses_of(_url("https://hooks.example.org/")) == ["1.1.1.1"]

    def test_permitted_network_includes_mapped_addresses(self) -> None:
        client = _client(["127.0.0.1"], ["::ffff:127.0.0.1"])
        for expected in ("127.0.0.1", "::ffff:127.0.0.1"):
            assert client.addresses_of(_url("http://hooks.example.org/")) == [expected]

    def test_name_is_resolved_once_and_another_address_is_refused_at_the_next_call(self) -> None:
        with RawPeer([OK]) as peer:
            port = peer.url.rpartition(":")[2]
            names = Names(["127.0.0.1"], ["10.0.0.1"], ["127.0.0.1"])
            client = PinnedClient(allowed_networks=LOOPBACK, resolver=names)
            url = f"http://hooks.example.org:{port}/x"
            assert client.post(_url(url), {}, b"{}").status == 200
            assert _failure(client, url) == CallFailure.REFUSED
            assert client.post(_url(url), {}, b"{}").status == 200
            assert len(peer.heads) == 2
        assert f"Host: hooks.example.org:{port}\r\n" in peer.heads[0]

    def test_second_address_is_tried(self) -> None:
        with RawPeer([OK]) as peer:
            port = peer.url.rpartition(":")[2]
            client = _client(["::1", "127.0.0.1"])
            assert client.post(_url(f"http://hooks.example.org:{port}/"), {}, b"").status == 200

    def test_unknown_name_is_not_resolved(self) -> None:
        assert _failure(_client([]), "https://hooks.example.org/") == CallFailure.NOT_RESOLVED


class TestResponses:
    @pytest.mark.parametrize(
        ("script", "status"),
        [
            ([OK], 200),
            ([b"HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/\r\nContent-Length: 0\r\n\r\n"], 302),
            ([b"HTTP/1.1 500 No\r\nContent-Length: 100\r\n\r\nx"], 500),
            ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"], 200),
            ([b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", 30.0], 200),
        ],
    )
    def test_head_decides(self, script: Script, status: int) -> None:
        with RawPeer(script) as peer:
            assert _client().post(_url(peer.url), {}, b"{}").status == status

    def test_body_is_read_up_to_its_limit(self) -> None:
        with RawPeer([b"HTTP/1.1 200 OK\r\n\r\n", b"x" * (4 * MAX_BODY_BYTES)]) as peer:
            assert len(_client().post(_url(peer.url), {}, b"{}").body) == MAX_BODY_BYTES

    @pytest.mark.parametrize(
        ("script", "reason"),
        [
            ([30.0], CallFailure.LATE),
            ([b"HTTP/1.1 200 OK\r\n", *([b"X: y\r\n", 0.1] * 300)], CallFailure.LATE),
            ([*([b"HTTP/1.1 100 Continue\r\n\r\n", 0.1] * 300)], CallFailure.LATE),
            ([b"SSH-2.0-OpenSSH\r\n"], CallFailure.INVALID),
            ([b"HTTP/1.1 200 OK\r\n", b"X: " + b"y" * 70_000 + b"\r\n\r\n"], CallFailure.INVALID),
            ([b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 200, b"\r\n"], CallFailure.INVALID),
            ([], CallFailure.DROPPED),
        ],
    )
    def test_call_without_a_head_fails_within_its_time(self, script: Script, reason: CallFailure) -> None:
        with RawPeer(script) as peer:
            assert _failure(_client(deadline_s=1.0), peer.url) == reason

    def test_closed_port_fails(self) -> None:
        assert _failure(_client(), "http://127.0.0.1:1/") == CallFailure.NOT_CONNECTED

    def test_log_has_neither_the_path_nor_the_query(self) -> None:
        with RawPeer([OK]) as peer, structlog.testing.capture_logs() as lines:
            _client().post(_url(f"{peer.url}/build_hooks/{SECRET}?token={SECRET}"), {}, b"")
        assert [line["event"] for line in lines] == ["outbound.call"]
        assert SECRET not in str(lines)

    def test_slots_are_limited(self) -> None:
        client = PinnedClient()
        with ExitStack() as stack:
            taken = [stack.enter_context(client.calls.slot("org_1")) for _ in range(3)]
            assert taken == [True, True, False]
            others = [stack.enter_context(client.calls.slot(f"org_{number // 2}")) for number in range(4, 20)]
            assert others == [*[True] * 14, False, False]
        with client.calls.slot("org_1") as again:
            assert again

    def test_silence_before_the_first_byte_ends_before_the_call(self) -> None:
        client = PinnedClient(allowed_networks=LOOPBACK, deadline_s=30.0, first_byte_s=0.3)
        with RawPeer([30.0]) as peer:
            assert _failure(client, peer.url) == CallFailure.LATE
        with RawPeer([b"H", 1.0, OK[1:]]) as peer:
            assert client.post(_url(peer.url), {}, b"{}").status == 200


class _Accepts(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[tuple[HTTPServer, Path]]:
    """A server with TLS on loopback, and its certificate, which names the address."""
    file = self_signed(tmp_path / "server.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    server = HTTPServer(("127.0.0.1", 0), _Accepts)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield server, file
    server.shutdown()
    server.server_close()
    thread.join(5)


class TestTls:
    def test_certificate_is_compared_with_the_name_of_the_url(self, secured: tuple[HTTPServer, Path]) -> None:
        server, file = secured
        port = server.server_address[1]
        trusting = PinnedClient(
            allowed_networks=LOOPBACK,
            resolver=Names(["127.0.0.1"], ["127.0.0.1"]),
            certificates=str(file),
        )
        assert trusting.post(_url(f"https://127.0.0.1:{port}/"), {}, b"{}").status == 204
        assert _failure(trusting, f"https://hooks.example.org:{port}/") == CallFailure.INSECURE
        assert _failure(_client(), f"https://127.0.0.1:{port}/") == CallFailure.INSECURE

    def test_slow_handshake_ends_within_its_time(self) -> None:
        with RawPeer([30.0]) as peer:
            assert _failure(_client(deadline_s=1.0), peer.url.replace("http:", "https:")) == CallFailure.LATE
