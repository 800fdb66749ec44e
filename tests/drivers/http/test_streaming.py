"""Tests of streamed bodies with any split of the bytes, and of their timeouts."""

import gzip
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3

from app.concurrency.background import HEARTBEAT_S
from app.drivers.http.pool import use_cancellable_connections
from app.drivers.http.streaming import CallCancelled, ResponseTimeout, ResponseTruncated, StreamingResponse
from tests.support.doubles.certificates import self_signed
from tests.support.doubles.sockets import RawPeer, Script

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
END = b"0\r\n\r\n"
SILENCE = 3 * HEARTBEAT_S
EIGHT_KIB = 8192
"""What the standard library's reader takes at once."""

IN_GREENLETS = """
from gevent import monkey; monkey.patch_all()
import sys, threading, time
import urllib3
from app.drivers.http.pool import use_cancellable_connections
from app.drivers.http.pool import use_cancellable_connections
from app.drivers.http.streaming import CallCancelled, StreamingResponse
manager = urllib3.PoolManager()
use_cancellable_connections(manager)
raw = manager.request("GET", sys.argv[1], preload_content=False)
answer = StreamingResponse(raw, idle_s=20, until=time.monotonic() + 60)
seen = []
try:
    for piece in answer.chunks():
        seen.append(piece)
        if b"c" in piece:
            threading.Timer(0.1, answer.close).start()
except CallCancelled:
    print(b"".join(seen), seen[0], b"" in seen)
"""


def chunk(data: bytes) -> bytes:
    return b"%X;x=y\r\n%s\r\n" % (len(data), data)


def open_stream(url: str, *, idle_s: float = 20, total_s: float = 60, **options: Any) -> StreamingResponse:
    manager = urllib3.PoolManager(**options)
    use_cancellable_connections(manager)
    raw = manager.request("GET", url, preload_content=False)
    return StreamingResponse(raw, idle_s=idle_s, until=time.monotonic() + total_s)


def pieces(script: Script, **options: float) -> list[bytes]:
    with RawPeer(script) as peer:
        response = open_stream(peer.url, **options)
        try:
            return list(response.chunks())
        finally:
            response.close()


class TestPieces:
    @pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
    def test_body_does_not_depend_on_the_split_of_the_bytes(self, size: int) -> None:
        wire = chunk(b"data: a\n\n") + chunk(b"\r\n") + chunk(b"b" * 30) + b"0\r\nX-A: b\r\n\r\n"
        script = [HEAD + b"\r\n", *(step for at in range(0, len(wire), size) for step in (wire[at : at + size], 0.002))]
        assert b"".join(pieces(script)) == b"data: a\n\n" + b"\r\n" + b"b" * 30

    def test_available_chunks_are_yielded_as_one_piece(self) -> None:
        assert pieces([HEAD + b"\r\n" + chunk(b"a") + chunk(b"b") + chunk(b"c") + END]) == [b"abc"]

    @pytest.mark.parametrize("silent_after", [b"", chunk(b"a"), chunk(b"a")[:-1], chunk(b"a")[:-2], b"2\r\na"])
    def test_silence_at_any_position_yields_an_empty_piece(self, silent_after: bytes) -> None:
        """One position is after the line end of a chunk, where a read would wait for the size of the next chunk."""
        wire = (b"2\r\nab\r\n" if silent_after == b"2\r\na" else chunk(b"a")) + END
        seen = pieces([HEAD + b"\r\n" + silent_after, SILENCE, wire[len(silent_after) :]])
        assert b"" in seen
        assert b"".join(seen) in {b"a", b"ab"}

    def test_body_without_a_length_ends_with_the_connection(self) -> None:
        seen = pieces([b"HTTP/1.1 200 OK\r\n\r\n", SILENCE, b"a" * 20_000, SILENCE])
        assert b"".join(seen) == b"a" * 20_000
        assert seen[0] == b""

    @pytest.mark.parametrize(
        "script",
        [
            [HEAD + b"\r\n" + chunk(b"a")],
            [HEAD + b"\r\n" + chunk(b"a") + b"5\r\nb"],
            [HEAD + b"\r\n" + chunk(b"a") + b"no size\r\n"],
            [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na"],
        ],
    )
    def test_truncated_body_yields_the_received_bytes_and_raises(self, script: Script) -> None:
        seen: list[bytes] = []
        with RawPeer(script) as peer, pytest.raises(ResponseTruncated):
            seen += open_stream(peer.url).chunks()
        assert b"".join(seen)[:1] == b"a"

    @pytest.mark.parametrize("opening", [b"", chunk(b"a"), b"5\r\na", b"5"])
    @pytest.mark.parametrize("patience", [{"idle_s": 0.3}, {"total_s": 0.3}])
    def test_silence_at_any_position_times_out(self, opening: bytes, patience: dict[str, float]) -> None:
        with pytest.raises(ResponseTimeout):
            pieces([HEAD + b"\r\n" + opening, 1.5], **patience)

    @pytest.mark.parametrize("opening", [b"", chunk(b"a"), b"5\r\na", b"5"])
    def test_close_during_a_wait_raises_call_cancelled(self, opening: bytes) -> None:
        with RawPeer([HEAD + b"\r\n" + opening, 1.5]) as peer:
            response = open_stream(peer.url)
            threading.Timer(0.2, response.close).start()
            with pytest.raises(CallCancelled):
                list(response.chunks())

    def test_compressed_body_is_yielded_completely_before_the_silence(self) -> None:
        body = gzip.compress(b"\0" * 300_000)
        head = HEAD + b"Content-Encoding: gzip\r\n\r\n"
        with RawPeer([head + chunk(body), 3.0]) as peer:
            response, size = open_stream(peer.url, idle_s=2), 0
            for piece in response.chunks():
                size += len(piece)
                if size == 300_000:
                    break
            response.close()
        assert size == 300_000

    def test_stream_in_greenlets_yields_silence_and_ends_with_the_close(self) -> None:
        with RawPeer([HEAD + b"\r\n" + chunk(b"a"), SILENCE, chunk(b"b") + b"5\r\nc", 3.0]) as peer:
            command = [sys.executable, "-c", IN_GREENLETS, peer.url]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert (done.stderr, done.stdout) == ("", "b'abc' b'a' True\n")


class TestOverTls:
    @pytest.fixture
    def certificate(self, tmp_path: Path) -> Path:
        return self_signed(tmp_path / "server.pem")

    @pytest.fixture
    def listener(self, certificate: Path) -> Iterator[ssl.SSLSocket]:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate)
        with socket.create_server(("127.0.0.1", 0)) as plain, context.wrap_socket(plain, server_side=True) as made:
            yield made

    def test_decrypted_bytes_are_yielded_without_a_wait(self, listener: ssl.SSLSocket, certificate: Path) -> None:
        """One TLS record contains two chunks. The first read ends after the first chunk."""
        first = b"%X\r\n%s\r\n" % (EIGHT_KIB - 8, b"a" * (EIGHT_KIB - 8))
        assert len(first) == EIGHT_KIB
        has_head, has_all = threading.Event(), threading.Event()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(HEAD + b"\r\n")
                has_head.wait(60)
                connection.sendall(first + chunk(b"b"))
                has_all.wait(60)

        serving = threading.Thread(target=serve)
        serving.start()
        response = open_stream(f"https://127.0.0.1:{listener.getsockname()[1]}", idle_s=2, ca_certs=str(certificate))
        has_head.set()
        seen = b""
        for piece in response.chunks():
            seen += piece
            if seen.endswith(b"b"):
                break
        has_all.set()
        response.close()
        serving.join(10)
        assert seen == b"a" * (EIGHT_KIB - 8) + b"b"


class TestFinish:
    def test_connection_of_a_complete_response_is_reused(self) -> None:
        whole = HEAD + b"\r\n" + chunk(b"a") + END
        with RawPeer([whole, 0.2, whole, 1.0]) as peer, urllib3.PoolManager() as pool:
            use_cancellable_connections(pool)
            for _ in range(2):
                raw = pool.request("GET", peer.url, preload_content=False)
                response = StreamingResponse(raw, idle_s=20, until=time.monotonic() + 20)
                assert next(iter(response.chunks())) == b"a"
                response.finish()
            assert len(peer.heads) == 1, "one connection: the peer reads one head on each"
