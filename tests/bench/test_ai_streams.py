"""Streams of models: what the service adds to the first token and to every other, and what a stream costs.

The service runs on one core, provider and readers on the other; a bare TCP splice in its place is the limit.
"""

import asyncio
import contextlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from flask import Flask

from tests.bench.ai_load import Provider, Seen, read_many
from tests.bench.large import application
from tests.serving.processes import PASSED_ON, ROOT, free_port
from tests.world import World

PATH = "/api/ai/command"
TOKENS_A_SECOND = 20
STREAMS_AT_ONCE = 4


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("streams")


@pytest.fixture(scope="module")
def url(home: Path) -> str:
    return f"sqlite:///{home}/app.db"


@pytest.fixture(scope="module")
def app(home: Path, url: str) -> Iterator[Flask]:
    with application(home / "instance", url) as app:
        yield app


def cookies(app: Flask, streams: int) -> list[str]:
    """A header for each stream; nobody has more than four."""
    world = World(app)
    tokens = [world.person().token for _ in range(-(-streams // STREAMS_AT_ONCE))]
    return [f"Cookie: session_token={tokens[number // STREAMS_AT_ONCE]}\r\n" for number in range(streams)]


@contextlib.contextmanager
def process(command: list[str], port: int, environment: dict[str, str] | None = None) -> Iterator[psutil.Process]:
    """A server, pinned to the first core, ended at the end."""
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    started = subprocess.Popen(
        command, cwd=ROOT, env=kept | (environment or {}), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait(port, started)
        found = psutil.Process(started.pid)
        for each in (found, *found.children(recursive=True)):
            each.cpu_affinity([0])
        yield found
    finally:
        started.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            started.wait(35)
        started.kill()
        started.wait()


def _wait(port: int, started: "subprocess.Popen[bytes]", within_s: float = 40) -> None:
    import socket

    until = time.monotonic() + within_s
    while time.monotonic() < until and started.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            time.sleep(3)  # the workers load the application after the socket listens
            return
        time.sleep(0.1)
    raise AssertionError("the server does not start")


@contextlib.contextmanager
def service(home: Path, url: str, upstream: int, *, workers: int = 1) -> Iterator[tuple[int, psutil.Process]]:
    port = free_port()
    environment = {
        "PORT": str(port), "INSTANCE_DIR": str(home / "instance"), "DATABASE_URL": url, "WEB_CONCURRENCY": str(workers),
        "RATE_LIMIT_SCALE": "100000", "LOG_LEVEL": "ERROR", "AI_PROVIDER": "openai", "AI_MODEL": "m", "APP_ENV": "test",
        "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"http://127.0.0.1:{upstream}/v1", "SANDBOX_DRIVER": "none",
    }  # fmt: skip
    command = [sys.executable, "-m", "gunicorn", "-c", "gunicorn.conf.py", "wsgi:app"]
    with process(command, port, environment) as started:
        yield port, started


@contextlib.contextmanager
def spliced(upstream: int) -> Iterator[tuple[int, psutil.Process]]:
    port = free_port()
    with process(
        [sys.executable, str(ROOT / "tests" / "bench" / "ai_load.py"), str(port), str(upstream)], port
    ) as started:
        yield port, started


def cpu_s(found: psutil.Process) -> float:
    return sum(sum(each.cpu_times()[:2]) for each in (found, *found.children(recursive=True)))


def memory(found: psutil.Process) -> int:
    return sum(each.memory_info().rss for each in (found, *found.children(recursive=True)))


def late_ms(seen: list[Seen], share: float) -> float:
    late = sorted(ns for each in seen for ns in each.late_ns)
    return late[int(len(late) * share)] / 1e6


def whole(seen: list[Seen], tokens: int) -> None:
    assert [len(each.late_ns) for each in seen] == [tokens] * len(seen)
    assert all(each.whole for each in seen)


@pytest.fixture(autouse=True)
def second_core() -> Iterator[None]:
    """Provider and readers stay off the server's core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, before - {0} or before)
    yield
    os.sched_setaffinity(0, before)


class TestFirstToken:
    def test_at_most_eight_milliseconds_are_added(self, home: Path, url: str, app: Flask) -> None:
        headers = cookies(app, 1)

        async def measure() -> tuple[list[float], list[float]]:
            ours, direct = [], []
            async with Provider(tokens=3, every_s=0.0).serving() as provider:
                with service(home, url, provider.port) as (port, _):
                    for _ in range(40):
                        ours += [s.first_s for s in await read_many(port, PATH, headers, spread_s=0)]
                        direct += [s.first_s for s in await read_many(provider.port, "/v1/x", [""], spread_s=0)]
            return ours[5:], direct[5:]

        ours, direct = asyncio.run(measure())
        added_ms = (statistics.median(ours) - statistics.median(direct)) * 1000
        print(f"\nfirst token: {added_ms:.1f} ms added (median of {len(ours)})")
        assert added_ms <= 8


class TestManyStreams:
    STREAMS, SECONDS = 300, 8

    def test_less_than_fifty_milliseconds_are_added_to_a_token(self, home: Path, url: str, app: Flask) -> None:
        headers, tokens = cookies(app, self.STREAMS), self.SECONDS * TOKENS_A_SECOND

        async def held(port: int, path: str, told: list[str], started: psutil.Process) -> tuple[list[Seen], float]:
            await read_many(port, path, told[:8], spread_s=0.1)
            before = memory(started)
            reading = asyncio.ensure_future(read_many(port, path, told, spread_s=4))
            await asyncio.sleep(self.SECONDS)
            grown = memory(started) - before
            return await reading, grown / self.STREAMS / 1024

        async def measure() -> tuple[list[Seen], list[Seen], float]:
            async with Provider(tokens, 1 / TOKENS_A_SECOND).serving() as provider:
                with service(home, url, provider.port) as (port, started):
                    ours, kib = await held(port, PATH, headers, started)
                with spliced(provider.port) as (port, started):
                    bare, _ = await held(port, "/v1/x", [""] * self.STREAMS, started)
            return ours, bare, kib

        ours, bare, kib = asyncio.run(measure())
        told = ", ".join(
            f"p{share:.0%} {late_ms(ours, share):.0f} (splice {late_ms(bare, share):.0f})" for share in (0.5, 0.99)
        )
        print(f"\n{self.STREAMS} streams: {told} ms; {kib:.0f} KiB each")
        whole(ours, tokens)
        assert late_ms(ours, 0.99) - late_ms(bare, 0.99) < 50
        assert kib <= 64


class TestProcessorTime:
    TOKENS, STREAMS = 2000, 16

    def test_a_token_costs_at_most_two_and_a_half_times_a_splice(self, home: Path, url: str, app: Flask) -> None:
        headers = cookies(app, self.STREAMS)

        async def spent(port: int, path: str, told: list[str], started: psutil.Process) -> float:
            await read_many(port, path, told[:2], spread_s=0)
            before = cpu_s(started)
            whole(await read_many(port, path, told, spread_s=0.1), self.TOKENS)
            return (cpu_s(started) - before) / self.STREAMS / self.TOKENS * 1e6

        async def measure() -> list[tuple[float, float]]:
            found = []
            async with Provider(self.TOKENS, 0.001).serving() as provider:
                with service(home, url, provider.port) as (port, ours), spliced(provider.port) as (bare, theirs):
                    for _ in range(3):
                        limit = await spent(bare, "/v1/x", [""] * self.STREAMS, theirs)
                        found.append((await spent(port, PATH, headers, ours), limit))
            return found

        found = asyncio.run(measure())
        ratio = statistics.median(ours / limit for ours, limit in found)
        print(f"\nprocessor time a token: {found[-1][0]:.1f} µs, splice {found[-1][1]:.1f} µs, ratio {ratio:.2f}")
        assert ratio <= 2.5


class TestThousandStreams:
    def test_a_thousand_are_held_and_come_whole(self, home: Path, url: str, app: Flask) -> None:
        headers = cookies(app, 1000)

        async def measure() -> list[Seen]:
            async with Provider(40, 0.5).serving() as provider:
                with service(home, url, provider.port, workers=2) as (port, _):
                    return await read_many(port, PATH, headers, spread_s=10)

        seen = asyncio.run(measure())
        print(f"\n1,000 streams: p50 {late_ms(seen, 0.5):.1f}, p99 {late_ms(seen, 0.99):.1f} ms")
        whole(seen, 40)
