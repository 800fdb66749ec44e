"""Tests of background work behind a generator that yields heartbeats."""

import threading
import time
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from app.concurrency.background import BUFFERED_BLOCKS, prefetch, run_with_heartbeat


class BlockProducer:
    """A producer of blocks that records their number and how it ended."""

    def __init__(self, *steps: bytes | threading.Event | Exception) -> None:
        self.steps, self.made, self.ended = steps, 0, threading.Event()

    def blocks(self) -> Generator[bytes, None, None]:
        try:
            for step in self.steps:
                if isinstance(step, bytes):
                    self.made += 1
                    yield step
                elif isinstance(step, Exception):
                    raise step
                else:
                    step.wait(60)
        finally:
            self.ended.set()


def until(condition: Any) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def without_empty(blocks: Iterator[bytes]) -> list[bytes]:
    return [block for block in blocks if block]


class TestPrefetch:
    def test_prefetch_yields_whole_blocks_in_order(self) -> None:
        assert b"".join(prefetch(BlockProducer(b"a", b"b", b"c").blocks())) == b"abc"

    def test_prefetch_joins_blocks_that_are_ready(self) -> None:
        making, gate = BlockProducer(), threading.Event()
        making.steps = (b"0", gate, *[b"x"] * 20)
        blocks = prefetch(making.blocks())
        assert next(blocks) == b"0"
        gate.set()
        assert making.ended.wait(60)
        assert without_empty(blocks) == [b"x" * 20]

    def test_prefetch_yields_empty_blocks_while_waiting(self) -> None:
        gate = threading.Event()
        blocks = prefetch(BlockProducer(b"a", gate, b"b").blocks())
        assert [next(blocks), next(blocks), next(blocks)] == [b"a", b"", b""]
        gate.set()
        assert without_empty(blocks) == [b"b"]

    def test_prefetch_raises_a_failure_after_the_earlier_blocks(self) -> None:
        blocks = prefetch(BlockProducer(b"a", ValueError("no")).blocks())
        assert next(blocks) == b"a"
        with pytest.raises(ValueError, match="no"):
            list(blocks)

    def test_prefetch_pauses_the_producer_for_a_slow_reader(self) -> None:
        making = BlockProducer(*[b"x"] * 1000)
        blocks = prefetch(making.blocks())
        first = next(blocks)
        until(lambda: making.made >= BUFFERED_BLOCKS)
        time.sleep(0.1)
        assert making.made <= BUFFERED_BLOCKS + len(first) + 1
        assert first + b"".join(blocks) == b"x" * 1000

    def test_prefetch_close_stops_the_producer_at_the_next_block(self) -> None:
        making = BlockProducer(*[b"x"] * 1000)
        blocks = prefetch(making.blocks())
        next(blocks)
        blocks.close()
        assert making.ended.wait(60)
        assert making.made < 1000


class TestRunWithHeartbeat:
    def read(self, heartbeats: Generator[bytes, None, Any]) -> tuple[list[bytes], Any]:
        results: list[Any] = []

        def blocks() -> Generator[bytes, None, None]:
            results.append((yield from heartbeats))

        return list(blocks()), results[0]

    def test_heartbeat_yields_until_the_call_returns(self) -> None:
        gate = threading.Event()
        heartbeats = run_with_heartbeat(lambda: gate.wait(30) and 7)
        assert [next(heartbeats), next(heartbeats)] == [b"", b""]
        gate.set()
        remaining, result = self.read(heartbeats)
        assert set(remaining) <= {b""}
        assert result == 7

    def test_heartbeat_raises_the_failure_of_the_call(self) -> None:
        def call() -> None:
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            self.read(run_with_heartbeat(call))

    def test_heartbeat_close_waits_for_the_call(self) -> None:
        gate, ended = threading.Event(), threading.Event()

        def call() -> None:
            gate.wait(30)
            ended.set()

        heartbeats = run_with_heartbeat(call)
        next(heartbeats)
        threading.Timer(0.2, gate.set).start()
        heartbeats.close()
        assert ended.is_set()
