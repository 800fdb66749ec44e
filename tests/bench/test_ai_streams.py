"""AI streams: added delay of the first and the other tokens, and the cost of a stream.

The servers run on one core, the provider and the readers on the other. A TCP splice in place of the service is the limit.
The LiteLLM proxy is the peer if it can be installed from PyPI. The output contains medians of interleaved rounds. Prefer the processor time to the wall time.
"""

import asyncio
import contextlib
import os
import secrets
import statistics
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from flask import Flask

from tests.bench.ai_load import Provider, StreamObservation, read_many
from tests.bench.large import application
from tests.bench.peers import litellm as installed_litellm
from tests.serving.one_worker import Started, cookies, process, service
from tests.serving.processes import ROOT
from tests.support.servers.ports import free_port

STREAMS = 300
TOKENS_A_SECOND = 20
MASTER_KEY = f"sk-{secrets.token_hex(32)}"


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


@pytest.fixture(autouse=True)
def second_core() -> Iterator[None]:
    """Keep the provider and the readers away from the core of the servers."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, before - {0} or before)
    yield
    os.sched_setaffinity(0, before)


@dataclass(frozen=True)
class Peer:
    """A server between readers and the provider. `headers` contains one header per stream."""

    name: str
    started: Started
    path: str
    headers: list[str]

    async def read(self, streams: int, *, spread_s: float = 0) -> list[StreamObservation]:
        return await read_many(self.started.port, self.path, self.headers[:streams], spread_s=spread_s)


@contextlib.contextmanager
def spliced(upstream: int) -> Iterator[Started]:
    port = free_port()
    script = ROOT / "tests" / "bench" / "ai_load.py"
    with process([sys.executable, str(script), str(port), str(upstream)], port) as started:
        yield started


@contextlib.contextmanager
def litellm(executable: Path, home: Path, upstream: int) -> Iterator[Started]:
    port, configuration = free_port(), home / "litellm.yaml"
    configuration.write_text(
        "model_list:\n- model_name: m\n  litellm_params:\n    model: openai/m\n    api_key: k\n"
        f"    api_base: http://127.0.0.1:{upstream}/v1\nlitellm_settings:\n  telemetry: false\n"
    )
    command = [
        str(executable),
        "--config",
        str(configuration),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--num_workers",
        "1",
    ]
    # Without these variables it requests prices and sends telemetry.
    quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False", "LITELLM_LOG": "ERROR"}
    quiet["LITELLM_MASTER_KEY"] = MASTER_KEY
    with process(command, port, quiet, within_s=180) as started:
        yield started


@pytest.fixture(scope="module")
def upstream() -> int:
    """Return the port of the provider, which each measurement starts."""
    return free_port()


@pytest.fixture(scope="module")
def peers(home: Path, url: str, app: Flask, upstream: int) -> Iterator[list[Peer]]:
    """Start Galley, the splice, and LiteLLM if it is installed."""
    with contextlib.ExitStack() as stack:
        ours = stack.enter_context(service(home, url, upstream))
        found = [Peer("ours", ours, "/api/ai/command", cookies(app, STREAMS))]
        found.append(Peer("splice", stack.enter_context(spliced(upstream)), "/v1/x", [""] * STREAMS))
        executable = installed_litellm()
        if executable is not None:
            proxy = stack.enter_context(litellm(executable, home, upstream))
            header = f"Authorization: Bearer {MASTER_KEY}\r\n"
            found.append(Peer("LiteLLM", proxy, "/v1/chat/completions", [header] * STREAMS))
        yield found


def measured(peers: list[Peer], provider: Provider, measure: Callable[[], Awaitable[None]]) -> None:
    """Run a measurement with this provider on warm servers."""

    async def run() -> None:
        async with provider.serving():
            tokens, provider.tokens = provider.tokens, 3
            for peer in peers:
                await peer.read(8)
            provider.tokens = tokens
            await measure()

    asyncio.run(run())


def late_ms(seen: list[StreamObservation], share: float) -> float:
    late = sorted(ns for each in seen for ns in each.late_ns)
    return late[int(len(late) * share)] / 1e6


def whole(seen: list[StreamObservation], tokens: int) -> None:
    assert [len(each.late_ns) for each in seen] == [tokens] * len(seen)
    assert all(each.whole for each in seen)


class TestFirstToken:
    ROUNDS, CALLS = 6, 15

    def test_first_token_delay_is_printed(self, peers: list[Peer], upstream: int) -> None:
        provider = Provider(tokens=3, every_s=0.0, port=upstream)
        first: dict[str, list[float]] = {}
        cpu: dict[str, list[float]] = {}

        async def measure() -> None:
            for _ in range(self.ROUNDS):
                direct = [await read_many(upstream, "/v1/x", [""], spread_s=0) for _ in range(self.CALLS)]
                first.setdefault("direct", []).extend(seen[0].first_s for seen in direct)
                for peer in peers:
                    before = peer.started.cpu_s()
                    seen = [(await peer.read(1))[0] for _ in range(self.CALLS)]
                    cpu.setdefault(peer.name, []).append((peer.started.cpu_s() - before) / self.CALLS * 1000)
                    first.setdefault(peer.name, []).extend(each.first_s for each in seen)
                    whole(seen, provider.tokens)

        measured(peers, provider, measure)
        floor = statistics.median(first["direct"])
        for name, took in cpu.items():
            added = sorted((each - floor) * 1000 for each in first[name])
            told = f"{added[len(added) // 10]:.1f} ms added (best tenth), {statistics.median(added):.1f} ms (median)"
            print(f"\nfirst token, {name}: {told}; processor time a call {statistics.median(took):.1f} ms", end="")


class TestManyStarts:
    def test_starts_in_one_second_are_printed(self, peers: list[Peer], upstream: int) -> None:
        provider = Provider(tokens=20, every_s=0.05, port=upstream)

        async def measure() -> None:
            for peer in peers:
                before = peer.started.cpu_s()
                seen = await peer.read(STREAMS, spread_s=1)
                refused = sum(not each.whole for each in seen)
                first = sorted(each.first_s for each in seen if each.whole)
                told = (
                    f"{refused} refused (goal 0), first token p99 {first[int(len(first) * 0.99)]:.2f} s"
                    if first
                    else "all refused"
                )
                cost = (peer.started.cpu_s() - before) / STREAMS * 1000
                print(
                    f"\n{STREAMS} starts in a second, {peer.name}: {told}; processor time a stream {cost:.1f} ms",
                    end="",
                )

        measured(peers, provider, measure)


class TestManyStreams:
    SECONDS, FEWER = 8, 20

    def test_delay_of_many_streams_is_printed(self, peers: list[Peer], upstream: int) -> None:
        provider = Provider(self.SECONDS * TOKENS_A_SECOND, 1 / TOKENS_A_SECOND, port=upstream)

        async def measure() -> None:
            for peer in peers:
                streams = self.FEWER if peer.name == "LiteLLM" else STREAMS
                cpu, memory = peer.started.cpu_s(), peer.started.memory()
                reading = asyncio.ensure_future(peer.read(streams, spread_s=4))
                await asyncio.sleep(self.SECONDS)
                kib = (peer.started.memory() - memory) / streams / 1024
                seen = await reading
                whole(seen, provider.tokens)
                room = streams * self.SECONDS / (peer.started.cpu_s() - cpu)
                late = ", ".join(f"p{share * 100:.0f} {late_ms(seen, share):.0f} ms" for share in (0.5, 0.99))
                told = f"{kib:.0f} KiB each; a core's time is enough for {room:.0f}"
                print(f"\n{streams} streams of {TOKENS_A_SECOND} tokens/s, {peer.name}: {late}; {told}", end="")

        measured(peers, provider, measure)


class TestProcessorTime:
    TOKENS, STREAMS, ROUNDS = 1000, 16, 3

    def test_cpu_time_per_token_is_printed(self, peers: list[Peer], upstream: int) -> None:
        provider = Provider(self.TOKENS, 0.001, port=upstream)
        cost: dict[str, list[float]] = {peer.name: [] for peer in peers}

        async def measure() -> None:
            for _ in range(self.ROUNDS):
                for peer in peers:
                    before = peer.started.cpu_s()
                    seen = await peer.read(self.STREAMS, spread_s=0.1)
                    spent = peer.started.cpu_s() - before
                    whole(seen, provider.tokens)
                    cost[peer.name].append(spent / self.STREAMS / provider.tokens * 1e6)

        measured(peers, provider, measure)
        for name, spent_us in cost.items():
            ratio = statistics.median(ours / each for ours, each in zip(cost["ours"], spent_us, strict=True))
            each = statistics.median(spent_us)
            print(f"\nprocessor time a token, {name}: {each:.1f} µs; ours is {ratio:.2f} of it", end="")
