"""Bounded traffic: keep-alive clients that send requests one after another or at a fixed rate.

The client implements the part of HTTP/1.1 that a server with Content-Length needs, so it uses little processor time.
"""

import asyncio
import contextlib
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Ask:
    """A kind of request. `make` returns the body, `weight` is its share of the traffic."""

    group: str
    method: str
    path: str
    cookie: str
    weight: float
    make: Callable[[], object] | None = None

    def wire(self) -> bytes:
        """Return the bytes of the request."""
        body = b"" if self.make is None else json.dumps(self.make()).encode()
        head = (
            f"{self.method} {self.path} HTTP/1.1\r\nHost: load\r\nCookie: session_token={self.cookie}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


@dataclass
class TrafficResult:
    """The collected responses."""

    statuses: Counter[int] = field(default_factory=Counter)
    took_s: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    unheard: Counter[str] = field(default_factory=Counter)
    """Requests without a response, by error name."""
    rude: int = 0
    """Refusals without Retry-After."""
    elapsed_s: float = 0.0

    @property
    def total(self) -> int:
        """Return the number of responses."""
        return sum(self.statuses.values())

    def quantile_ms(self, group: str, share: float) -> float:
        """Return a quantile of the response times of a group, in milliseconds."""
        results = sorted(self.took_s[group])
        return results[min(len(results) - 1, int(len(results) * share))] * 1000


class Connection:
    """A keep-alive connection that reconnects if it is lost."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, ask: Ask, seen: TrafficResult) -> None:
        """Send a request and record the response."""
        started = time.perf_counter()
        try:
            async with asyncio.timeout(TIMEOUT_S):
                status, rude = await self._exchange(ask.wire())
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            seen.unheard[type(error).__name__] += 1
            self.close()
            return
        seen.statuses[status] += 1
        seen.rude += rude
        if status < 400:
            seen.took_s[ask.group].append(time.perf_counter() - started)

    async def _exchange(self, wire: bytes) -> tuple[int, bool]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(wire)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
        await reader.readexactly(length)
        if b"connection: close" in head:
            self.close()
        status = int(head[9:12])
        return status, status in (429, 502, 503, 504) and b"\r\nretry-after:" not in head

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            with contextlib.suppress(OSError, RuntimeError):
                self._streams[1].close()
        self._streams = None


def steady(port: int, asks: Sequence[Ask], *, clients: int, requests: int, seed: int) -> TrafficResult:
    """Send `requests` in total from clients that wait for each response."""
    return asyncio.run(_steady(port, asks, clients, requests, random.Random(seed)))


def flood(port: int, asks: Sequence[Ask], *, rate: float, seconds: float, connections: int, seed: int) -> TrafficResult:
    """Send `rate` requests a second on a bounded number of connections."""
    return asyncio.run(_flood(port, asks, rate, seconds, connections, random.Random(seed)))


async def _steady(port: int, asks: Sequence[Ask], clients: int, requests: int, dice: random.Random) -> TrafficResult:
    seen, left = TrafficResult(), iter(_choose(asks, requests, dice))
    started = time.perf_counter()

    async def client() -> None:
        connection = Connection(port)
        for ask in left:
            await connection.send(ask, seen)
        connection.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    seen.elapsed_s = time.perf_counter() - started
    return seen


async def _flood(
    port: int, asks: Sequence[Ask], rate: float, seconds: float, connections: int, dice: random.Random
) -> TrafficResult:
    seen, idle = TrafficResult(), [Connection(port) for _ in range(connections)]
    started, running = time.perf_counter(), set()

    async def one(connection: Connection, ask: Ask) -> None:
        await connection.send(ask, seen)
        idle.append(connection)

    for number, ask in enumerate(_choose(asks, int(rate * seconds), dice)):
        await asyncio.sleep(max(0.0, started + number / rate - time.perf_counter()))
        while not idle:
            await asyncio.sleep(0.001)
        task = asyncio.create_task(one(idle.pop(), ask))
        running.add(task)
        task.add_done_callback(running.discard)
        if time.perf_counter() - started > 2 * seconds:
            break
    await asyncio.gather(*running)
    for connection in idle:
        connection.close()
    seen.elapsed_s = time.perf_counter() - started
    return seen


def _choose(asks: Sequence[Ask], times: int, dice: random.Random) -> list[Ask]:
    return dice.choices(asks, [ask.weight for ask in asks], k=times)
