"""Tests of the event parser with any split of the bytes."""

import pytest

from app.drivers.ai.answer import MAX_EVENT_BYTES, SseReader
from app.drivers.ai.port import InvalidModelResponse

STREAM = (
    ": a comment\n\nevent: x\ndata: one\n\ndata: two\r\ndata: lines\r\n\r\ndata:tight\rid: 7\r\rdata\ndata: \n\n"
    "retry: 5\n\ndata: ünï🌍\n\ndata: never ended\n"
).encode()
EVENTS = [b"one", b"two\nlines", b"tight", b"", "ünï🌍".encode()]


class TestSseReader:
    @pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 64, 10_000])
    def test_events_do_not_depend_on_the_split_of_the_bytes(self, size: int) -> None:
        reader = SseReader()
        matches = [event for at in range(0, len(STREAM), size) for event in reader.feed(STREAM[at : at + size])]
        assert matches == EVENTS

    def test_endless_line_raises(self) -> None:
        reader = SseReader()
        reader.feed(b"data: " + b"x" * (MAX_EVENT_BYTES - 100))
        with pytest.raises(InvalidModelResponse):
            reader.feed(b"x" * 200)

    def test_event_with_too_many_lines_raises(self) -> None:
        lines = (b"data: " + b"x" * 1000 + b"\n") * 1000
        reader = SseReader()
        reader.feed(lines)
        with pytest.raises(InvalidModelResponse):
            reader.feed(lines)
