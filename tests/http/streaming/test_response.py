"""Tests of event streams, read as a server reads them."""

import threading
from collections.abc import Generator
from typing import Any

import pytest
import sqlalchemy as sa

from app.concurrency.background import HEARTBEAT_S, prefetch
from app.core.errors import PermissionDenied
from app.http.streaming import response as streaming
from app.http.streaming.response import EventStream, StreamSettings, sse_response


class Source:
    """A source that yields blocks, waits for each number of seconds and records its end."""

    def __init__(self, *steps: bytes | float | Exception) -> None:
        self.steps, self.cancelled, self.ended = steps, threading.Event(), threading.Event()
        self.given = 0

    def blocks(self) -> Generator[bytes, None, None]:
        try:
            for step in self.steps:
                if isinstance(step, bytes):
                    self.given += 1
                    yield step
                elif isinstance(step, Exception):
                    raise step
                elif self.cancelled.wait(step):
                    raise OSError("cancelled")
        finally:
            self.ended.set()

    def events(self, **more: Any) -> EventStream:
        return EventStream(
            prefetch(self.blocks()),
            self.cancelled.set,
            lambda error: f"!{type(error).__name__}".encode(),
            b"<end>",
            **more,
        )


def stream(source: Source, timing: StreamSettings | None = None, **more: Any) -> Any:
    return sse_response(source.events(**more), timing=timing).response


def read(source: Source, timing: StreamSettings | None = None, **more: Any) -> bytes:
    return b"".join(stream(source, timing, **more))


class TestSseResponse:
    def test_response_headers_disable_proxy_buffering(self) -> None:
        response = sse_response(Source(b"a").events(), headers={"X-More": "1"})
        assert response.headers["Content-Type"] == "text/event-stream"
        assert response.headers["Cache-Control"] == "no-cache"
        assert response.headers["X-Accel-Buffering"] == "no"
        assert response.headers["X-More"] == "1"
        response.close()

    def test_stream_yields_blocks_in_order_and_the_end_last(self) -> None:
        assert read(Source(b"a", b"b", 0.05, b"c")) == b"abc<end>"

    def test_stream_yields_a_block_before_the_next_is_ready(self) -> None:
        source = Source(b"a", 5.0, b"b")
        reading = iter(stream(source))
        assert next(reading) == b"a"
        assert not source.ended.is_set()
        reading.close()

    def test_failure_is_reported_before_the_end(self) -> None:
        assert read(Source(b"a", ValueError("x"))) == b"a!ValueError<end>"

    def test_silence_sends_comments_in_two_writes(self) -> None:
        writes = list(stream(Source(b"a", 3 * HEARTBEAT_S, b"b"), StreamSettings(comment_interval_s=0.1)))
        said = b"".join(writes)
        assert writes[:2] == [b"a", b":"]
        assert said.replace(b":\n\n", b"") == b"ab<end>"
        assert said.count(b":\n\n") >= 1

    def test_disconnect_cancels_the_source(self) -> None:
        source = Source(b"a", 30.0, b"b")
        reading = iter(stream(source))
        next(reading)
        reading.close()
        assert source.ended.wait(60)
        assert source.cancelled.is_set()

    def test_unread_stream_ends_the_source_at_close(self) -> None:
        source = Source(b"a", 30.0, b"b")
        stream(source).close()
        assert source.ended.wait(60)

    def test_stream_read_to_its_end_is_not_cancelled(self) -> None:
        source = Source(b"a")
        reading = stream(source)
        assert b"".join(reading) == b"a<end>"
        reading.close()
        assert not source.cancelled.is_set()
        assert source.ended.is_set()

    def test_total_time_limit_ends_active_and_silent_streams(self) -> None:
        for steps in ([b"x", 0.01] * 500, [b"x", 30.0]):
            source = Source(*steps)
            said = read(source, StreamSettings(comment_interval_s=0.1, total_s=0.4))
            assert said.endswith(b"!GatewayTimeout<end>")
            assert source.ended.wait(60)

    def test_ended_permission_ends_the_stream(self) -> None:
        rights = iter([True, False])
        said = read(
            Source(b"a", *([0.02, b"x"] * 400)),
            StreamSettings(comment_interval_s=0.1, check_s=0.15),
            allowed=lambda: next(rights),
        )
        assert said.startswith(b"ax")
        assert said.endswith(f"!{PermissionDenied.__name__}<end>".encode())

    def test_unavailable_database_during_the_check_keeps_the_stream(self) -> None:
        asked = []

        def unknown() -> bool:
            asked.append(1)
            raise sa.exc.OperationalError("SELECT", None, Exception("the database is away"))

        said = read(Source(b"a", *([0.02, b"x"] * 20)), StreamSettings(check_s=0.05), allowed=unknown)
        assert said == b"a" + 20 * b"x" + b"<end>"
        assert asked

    def test_exception_in_the_permission_check_ends_the_stream(self) -> None:
        def broken() -> bool:
            raise ValueError

        said = read(Source(b"a", *([0.02, b"x"] * 400)), StreamSettings(check_s=0.1), allowed=broken)
        assert said.endswith(f"x!{PermissionDenied.__name__}<end>".encode())

    def test_stalled_reader_ends_the_source_at_the_time_limit(self) -> None:
        source = Source(b"a", 30.0, b"b")
        reading = iter(stream(source, StreamSettings(total_s=0.2)))
        assert next(reading) == b"a"
        assert source.ended.wait(60)
        assert b"".join(reading) == b"!GatewayTimeout<end>"
        reading.close()

    def test_lazy_blocks_are_read_in_the_writing_thread(self) -> None:
        threads: list[threading.Thread] = []

        def blocks() -> Generator[bytes, None, None]:
            threads.append(threading.current_thread())
            yield b"a"

        events = EventStream(blocks(), cancel=lambda: None, failed=lambda error: b"")
        assert b"".join(sse_response(events).response) == b"a"
        assert threads == [threading.current_thread()]

    def test_heartbeats_are_not_sent_as_blocks(self) -> None:
        def blocks() -> Generator[bytes, None, None]:
            yield from (b"a", b"", b"", b"b")

        events = EventStream(blocks(), cancel=lambda: None, failed=lambda error: b"", end=b"<end>")
        assert list(sse_response(events).response) == [b"a", b"b", b"<end>"]

    def test_draining_server_ends_streams_with_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(streaming, "draining", lambda: True)
        assert read(Source(b"a")) == b"a<end>"
        output = read(Source(b"a", 30.0), StreamSettings(drain_grace_s=0.2))
        assert output.endswith(b"!ServiceUnavailable<end>")
