"""Model provider, reader of many streams and TCP splice, each with minimal overhead.

Every token carries its time of sending in nanoseconds of the monotonic clock, which all processes share.
"""

import asyncio
import contextlib
import json
import re
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

STAMP = re.compile(rb"T(\d+) ")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
FIRST = b'{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}'
LAST = (
    b'{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
    b'{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":9}}',
    b"[DONE]",
)


def _chunk(data: bytes) -> bytes:
    event = b"data: " + data + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(event), event)


def _token() -> bytes:
    text = b"T%d " % time.monotonic_ns()
    return _chunk(
        b'{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"%s"}}]}' % text
    )


@dataclass
class Provider:
    """A provider that answers with `tokens` tokens, one per `every_s` (0: without a pause).

    It listens on `port`, or on a free port with 0. `open` counts its connections.
    """

    tokens: int
    every_s: float
    port: int = 0
    open: int = 0
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator["Provider"]:
        server = await asyncio.start_server(self._begin, "127.0.0.1", self.port, backlog=2048)
        self.port = server.sockets[0].getsockname()[1]
        yield self
        server.close()
        left = list(self._tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.add(task := asyncio.create_task(self._counted(reader, writer)))
        task.add_done_callback(self._tasks.discard)

    async def _counted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            await self._serve(reader, writer)
        finally:
            self.open -= 1

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
                await reader.readexactly(int(size[1]) if size else 0)
                writer.write(HEAD + _chunk(FIRST))
                await self._say(writer)
                writer.write(b"".join(_chunk(each) for each in LAST) + b"0\r\n\r\n")
                await writer.drain()

    async def _say(self, writer: asyncio.StreamWriter) -> None:
        due = time.monotonic()
        for _ in range(self.tokens):
            writer.write(_token())
            await writer.drain()
            if self.every_s:
                due += self.every_s
                await asyncio.sleep(max(0.0, due - time.monotonic()))


@dataclass
class StreamObservation:
    """The observation of one reader: delay of each token, time of the first one, and whether the end was complete."""

    late_ns: list[int] = field(default_factory=list)
    first_s: float = 0.0
    whole: bool = False


async def read_stream(port: int, path: str, body: bytes, headers: str) -> StreamObservation:
    """Open one stream and read it to its end."""
    seen = StreamObservation()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    start = time.monotonic()
    writer.write(head.encode() + body)
    rest = b""
    while piece := await reader.read(65536):
        now = time.monotonic_ns()
        buffer = rest + piece
        stamps = list(STAMP.finditer(buffer))
        if stamps and not seen.late_ns:
            seen.first_s = time.monotonic() - start
        seen.late_ns += [now - int(stamp[1]) for stamp in stamps]
        rest = buffer[stamps[-1].end() if stamps else 0 :][-200:]
        if b"[DONE]" in rest:
            seen.whole = True
            break
    writer.close()
    return seen


async def read_many(port: int, path: str, headers: list[str], *, spread_s: float) -> list[StreamObservation]:
    """Open one stream per header within `spread_s` and read them in parallel."""
    asked = [{"role": "user", "content": "Write"}]
    body = json.dumps({"model": "m", "stream": True, "messages": asked}).encode()

    async def one(number: int) -> StreamObservation:
        await asyncio.sleep(spread_s * number / len(headers))
        return await read_stream(port, path, body, headers[number])

    return await asyncio.gather(*(one(number) for number in range(len(headers))))


def splice(port: int, upstream: int) -> None:
    """Copy bytes between connections: the minimal cost of a proxy on this machine."""
    from gevent import monkey, spawn
    from gevent.server import StreamServer

    monkey.patch_all()
    import socket

    def copy(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def handle(client: socket.socket, _address: object) -> None:
        with socket.create_connection(("127.0.0.1", upstream)) as server:
            spawn(copy, client, server)
            copy(server, client)

    StreamServer(("127.0.0.1", port), handle, backlog=2048).serve_forever()


if __name__ == "__main__":
    splice(int(sys.argv[1]), int(sys.argv[2]))
