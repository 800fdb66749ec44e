"""Work beside a generator that says meanwhile that it is alive."""

import threading
import time
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from app.core import beside as module
from app.core.beside import BUFFERED_BLOCKS, beside, meanwhile


class Making:
    """Makes blocks, notes how many, and how it ended."""

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
                    step.wait(5)
        finally:
            self.ended.set()


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PULSE_S", 0.02)


def until(condition: Any) -> None:
    end = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def said(blocks: Iterator[bytes]) -> list[bytes]:
    return [block for block in blocks if block]


class TestBeside:
    def test_blocks_come_whole_and_in_order(self) -> None:
        assert b"".join(beside(Making(b"a", b"b", b"c").blocks())) == b"abc"

    def test_blocks_that_are_ready_come_as_one(self) -> None:
        making, gate = Making(), threading.Event()
        making.steps = (b"0", gate, *[b"x"] * 20)
        blocks = beside(making.blocks())
        assert next(blocks) == b"0"
        gate.set()
        assert making.ended.wait(5)
        assert said(blocks) == [b"x" * 20]

    def test_waiting_yields_a_sign_of_life(self) -> None:
        gate = threading.Event()
        blocks = beside(Making(b"a", gate, b"b").blocks())
        assert [next(blocks), next(blocks), next(blocks)] == [b"a", b"", b""]
        gate.set()
        assert said(blocks) == [b"b"]

    def test_failure_is_raised_after_what_was_made_before_it(self) -> None:
        blocks = beside(Making(b"a", ValueError("no")).blocks())
        assert next(blocks) == b"a"
        with pytest.raises(ValueError, match="no"):
            list(blocks)

    def test_no_more_is_made_than_a_slow_reader_has_room_for(self) -> None:
        making = Making(*[b"x"] * 1000)
        blocks = beside(making.blocks())
        first = next(blocks)
        until(lambda: making.made >= BUFFERED_BLOCKS)
        time.sleep(0.1)
        assert making.made <= BUFFERED_BLOCKS + len(first) + 1
        assert first + b"".join(blocks) == b"x" * 1000

    def test_closing_ends_the_making_at_its_next_block(self) -> None:
        making = Making(*[b"x"] * 1000)
        blocks = beside(making.blocks())
        next(blocks)
        blocks.close()
        assert making.ended.wait(5)
        assert making.made < 1000


class TestMeanwhile:
    def read(self, call: Any) -> tuple[list[bytes], Any]:
        given: list[Any] = []

        def blocks() -> Generator[bytes, None, None]:
            given.append((yield from meanwhile(call)))

        return list(blocks()), given[0]

    def test_signs_of_life_come_until_the_call_is_over(self) -> None:
        signs, given = self.read(lambda: time.sleep(0.1) or 7)
        assert given == 7
        assert signs
        assert set(signs) == {b""}

    def test_failure_of_the_call_is_raised(self) -> None:
        def call() -> None:
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            self.read(call)

    def test_closing_waits_for_the_call(self) -> None:
        over = threading.Event()

        def call() -> None:
            time.sleep(0.2)
            over.set()

        blocks = meanwhile(call)
        next(blocks)
        blocks.close()
        assert over.is_set()
