"""Many readers of streams on one worker: all are connected for a while and then disconnect at once."""

import asyncio
import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import sqlalchemy as sa
from flask import Flask

from app.database.engines import POOL_MAX
from app.extensions import db
from app.models.ai_usage import AiBudget, AiUsage
from tests.bench.ai_load import Provider, read_many
from tests.serving.one_worker import Started

PATH = "/api/ai/command"
BODY = json.dumps({"prompt": "Write"}).encode()
WARM_STREAMS = 40
BEGIN_EVERY_S = 0.02
PROBE_EVERY_S = 0.05
BACK_WITHIN_S = 60
POOLED_CONNECTIONS = 2 * POOL_MAX
"""The pools for writing and for reading keep their connections open."""
ALL_CONNECTED_WITHIN_S = 120


@dataclass
class Crowd:
    """The observed resources before, during and after, and the response times of `/healthz`."""

    before: dict[str, int] = field(default_factory=dict)
    during: dict[str, int] = field(default_factory=dict)
    after: dict[str, int] = field(default_factory=dict)
    back_s: float = 0.0
    health_s: list[float] = field(default_factory=list)
    held: slice = field(default_factory=lambda: slice(None))
    memory_a_stream: float = 0.0

    def health_ms(self, share: float, *, held_only: bool = False) -> float:
        """Return the given percentile of the probe times, of all probes or of those with all readers connected."""
        taken = sorted(self.health_s[self.held] if held_only else self.health_s)
        return taken[int(len(taken) * share)] * 1000


async def hold_and_drop(
    app: Flask, started: Started, provider: Provider, headers: list[str], *, hold_s: float
) -> Crowd:
    """Open a stream for each header, hold all, drop all at once and wait until their resources are released."""
    crowd = Crowd()
    provider.tokens, provider.every_s = 3, 0.0
    await read_many(started.port, PATH, headers[:WARM_STREAMS], spread_s=1)
    await _until(lambda: _running(app) == 0)
    provider.tokens, provider.every_s = 10**9, 1.0
    crowd.before = await _resources(app, started, provider)
    memory = started.memory()
    readers = [_Reader(started.port, header) for header in headers]
    probing = asyncio.create_task(_probe(started.port, crowd.health_s))
    await asyncio.gather(*(reader.begin(number * BEGIN_EVERY_S) for number, reader in enumerate(readers)))
    began = len(crowd.health_s)
    await asyncio.sleep(hold_s)
    crowd.during = await _resources_of_all(app, started, provider, len(headers))
    crowd.held = slice(began, len(crowd.health_s))
    crowd.memory_a_stream = (started.memory() - memory) / len(headers)
    for reader in readers:
        reader.drop()
    dropped_s = time.monotonic()
    while time.monotonic() < dropped_s + BACK_WITHIN_S and not crowd.back_s:
        await asyncio.sleep(0.25)
        crowd.after = await _resources(app, started, provider)
        limits = crowd.before | {"connections": max(POOLED_CONNECTIONS, crowd.before.get("connections", 0))}
        if all(count <= limits[name] for name, count in crowd.after.items()):
            crowd.back_s = time.monotonic() - dropped_s
    probing.cancel()
    [ended] = await asyncio.gather(probing, return_exceptions=True)
    assert isinstance(ended, asyncio.CancelledError), ended
    return crowd


class _Reader:
    """A reader that reads until it is dropped. It asks again if its stream ends, as after a timeout on a busy machine."""

    def __init__(self, port: int, header: str) -> None:
        self._port, self._header = port, header

    async def begin(self, after_s: float) -> None:
        """Send the request and wait for the first token. Repeat the request after a 503, or a 429 of a call that still ends."""
        await asyncio.sleep(after_s)
        self._reading = asyncio.create_task(self._read(await self._open()))

    async def _open(self) -> asyncio.StreamReader:
        while (reader := await self._ask()) is None:
            await asyncio.sleep(1)
        return reader

    async def _ask(self) -> asyncio.StreamReader | None:
        reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(BODY)}\r\n"
        self._writer.write(f"{head}{self._header}\r\n".encode() + BODY)
        status = await reader.readline()
        if b" 503 " in status or b" 429 " in status:
            self._writer.close()
            return None
        assert b" 200 " in status, status
        await reader.readuntil(b"text-delta")
        return reader

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while True:
            with contextlib.suppress(ConnectionError):
                while await reader.read(65536):
                    pass
            self._writer.close()
            reader = await self._open()

    def drop(self) -> None:
        """Close the connection."""
        self._reading.cancel()
        self._writer.transport.abort()


async def _probe(port: int, taken_s: list[float]) -> None:
    """Request `/healthz` repeatedly, each time on a new connection."""
    while True:
        start = time.monotonic()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.closing(writer):
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
        taken_s.append(time.monotonic() - start)
        await asyncio.sleep(PROBE_EVERY_S)


async def _resources_of_all(app: Flask, started: Started, provider: Provider, readers: int) -> dict[str, int]:
    """Return the resources at a moment at which all readers are connected. A reader that asked again connects later."""
    until = time.monotonic() + ALL_CONNECTED_WITHIN_S
    while True:
        during = await _resources(app, started, provider)
        if (during["running"] == readers and during["upstream"] >= readers) or time.monotonic() > until:
            return during
        await asyncio.sleep(0.05)


async def _resources(app: Flask, started: Started, provider: Provider) -> dict[str, int]:
    """Return the resources of the worker and its neighbours. `reserved` are tokens of calls that are not settled."""
    held = await asyncio.to_thread(started.held)
    return {**held, "upstream": provider.open, "running": _running(app), **_database(app)}


def _running(app: Flask) -> int:
    with app.app_context(), db.engine.connect() as connection:
        count = sa.select(sa.func.count()).select_from(AiUsage).where(AiUsage.ended_at.is_(None))
        return connection.scalar(count) or 0


def _database(app: Flask) -> dict[str, int]:
    with app.app_context(), db.engine.connect() as connection:
        spent = connection.scalar(sa.select(sa.func.sum(AiUsage.input_tokens + AiUsage.output_tokens))) or 0
        found = {"reserved": int((connection.scalar(sa.select(sa.func.sum(AiBudget.tokens))) or 0) - spent)}
        if connection.dialect.name == "postgresql":
            busy = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            found["connections"] = int(connection.scalar(sa.text(busy)) or 0)
        return found


async def _until(condition: Callable[[], bool], within_s: float = 120) -> None:
    until = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < until
        await asyncio.sleep(0.05)
