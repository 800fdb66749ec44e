"""TCP proxy with faults on demand: it refuses, resets, stalls, delays, truncates or discards, and recovers."""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Coroutine
from enum import StrEnum
from types import TracebackType
from typing import Any

from tests.support.servers.ports import free_port

PIECE_BYTES = 65_536


class Mode(StrEnum):
    """The treatment of connections, new and open."""

    PASS = "pass"
    REFUSE = "refuse"
    """Nobody listens: new connections are refused, open ones are reset."""
    RESET = "reset"
    """Connections are accepted and reset at once."""
    STALL = "stall"
    """Connections stay open, and nothing arrives any more, in either direction."""
    SLOW = "slow"
    """Every piece arrives `delay_s` late."""
    CUT = "cut"
    """After `cut_after` bytes of an answer the connection is reset."""
    BLACKHOLE = "blackhole"
    """What is asked is taken, and no answer comes."""


class FaultProxy:
    """A proxy with its own port and thread for the length of a `with`."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.behind = (host, port)
        self.mode, self.delay_s, self.cut_after = Mode.PASS, 0.0, 0
        self.port = free_port()
        self.connections = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._moves = asyncio.Event()

    def __enter__(self) -> "FaultProxy":
        self._thread.start()
        self._run(self._listen())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def fail(self, mode: Mode, *, delay_s: float = 0.0, cut_after: int = 0) -> None:
        """Activate a fault for open and new connections."""
        self._run(self._change(mode, delay_s, cut_after))

    def recover(self) -> None:
        """End the fault and close stalled connections."""
        self._run(self._change(Mode.PASS, 0.0, 0))

    def _run(self, what: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(15)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        await asyncio.sleep(
            0.05
        )  # accepted connections begin: a task that is cancelled before would leave its socket open
        self._reset_all()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.05)  # the transports close their sockets

    async def _change(self, mode: Mode, delay_s: float, cut_after: int) -> None:
        before, self.mode, self.delay_s, self.cut_after = self.mode, mode, delay_s, cut_after
        self._moves.set()
        self._moves = asyncio.Event()
        if mode in (Mode.REFUSE, Mode.RESET) or (mode is Mode.PASS and before in (Mode.STALL, Mode.BLACKHOLE)):
            self._reset_all()
        if mode is Mode.REFUSE and self._server is not None:
            self._server.close()
            self._server = None
        elif mode is not Mode.REFUSE and self._server is None:
            await self._listen()

    def _reset_all(self) -> None:
        for writer in list(self._open):
            _reset(writer)
        self._open.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self.mode is Mode.RESET:
            return _reset(writer)
        self._open.add(writer)
        try:
            behind_reader, behind_writer = await asyncio.open_connection(*self.behind)
        except OSError:
            return _reset(writer)
        self._open.add(behind_writer)
        # The end of the test cancels open connections.
        ways = (self._carry(reader, behind_writer, answers=False), self._carry(behind_reader, writer, answers=True))
        try:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(*ways)
        finally:
            self._open -= {writer, behind_writer}
            writer.close()
            behind_writer.close()
        return None

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, answers: bool) -> None:
        carried = 0
        with contextlib.suppress(OSError):
            while piece := await source.read(PIECE_BYTES):
                while self.mode is Mode.STALL or (self.mode is Mode.BLACKHOLE and answers):
                    await self._moves.wait()
                if self.mode is Mode.SLOW:
                    await asyncio.sleep(self.delay_s)
                if self.mode is Mode.CUT and answers and carried + len(piece) > self.cut_after:
                    target.write(piece[: max(0, self.cut_after - carried)])
                    self._reset_all()
                    return
                target.write(piece)
                carried += len(piece)
                await target.drain()
        with contextlib.suppress(OSError, RuntimeError):
            target.close()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close the socket with a TCP reset."""
    plain = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
