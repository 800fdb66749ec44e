"""First program inside a jail. Installs and serves the site and forwards connections between the jail and its sockets.

Runs without this package and without site-packages. The supervisor does not trust its messages: the site runs as the
same user and could end it, which ends the sandbox.
"""

import asyncio
import base64
import contextlib
import ctypes
import json
import os
import re
import resource
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

SITE = Path("/work")
EGRESS, EGRESS_PORT = "/run/egress.sock", 3128
CHUNK_BYTES = 64 * 1024
LINE_BYTES = 4 * 1024 * 1024
HEAD_BYTES = 16 * 1024
POLL_S = 0.02
PR_SET_DUMPABLE = 4
LISTENING = "0A"
PAGE_TIMEOUT_S = 10
PAGE = re.compile(rb"HTTP/1\.\d (?:2|3)\d\d[\s\S]*?\r\n(?:content-type: *text/html|location:)", re.IGNORECASE)
PAGE_REQUEST = b"GET / HTTP/1.1\r\nHost: localhost:%d\r\nAccept: text/html\r\nConnection: close\r\n\r\n"
_forwarding: set[object] = set()
"""Tasks of open connections. The event loop has weak references only, and would lose a waiting task."""

REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
LIMITS = {
    "processes": resource.RLIMIT_NPROC,
    "data_bytes": resource.RLIMIT_DATA,
    "file_bytes": resource.RLIMIT_FSIZE,
    "files": resource.RLIMIT_NOFILE,
}


async def main(serving: int, control: int) -> int:
    """Run the commands of the supervisor. Return the status of the last command."""
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # Processes of the site must not read this process.
    channel = socket.socket(fileno=control)
    reader, writer = await asyncio.open_connection(sock=channel, limit=LINE_BYTES)
    instructions: dict[str, Any] = json.loads(await reader.readline())
    _limit(instructions["limits"])
    target = Target(instructions["port"])
    await asyncio.start_unix_server(target.forward, sock=socket.socket(fileno=serving))
    tasks = [asyncio.create_task(_handle_requests(reader, writer, target))]
    gate = Gate(writer)
    await asyncio.start_server(gate.connect, "127.0.0.1", EGRESS_PORT)
    status = await _install(instructions, writer)
    if status == 0:
        gate.is_open = instructions["network"]
        _send(writer, phase="starting")
        status = await _run(instructions["serve"], instructions["environment"])
        _send(writer, ended=status, during="serve")
    await writer.drain()
    for task in tasks:
        task.cancel()
    return status


class Gate:
    """Proxy of the jail. Forwards to the proxy outside while it is open. Otherwise refuses and reports the host."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.is_open = True
        self._writer = writer

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        if self.is_open:
            await _join(reader, writer, asyncio.open_unix_connection(EGRESS))
            return
        with contextlib.suppress(
            OSError, ValueError, IndexError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
        ):
            head = await reader.readuntil(b"\r\n\r\n")
            target = head[:HEAD_BYTES].split(b" ", 2)[1].decode("ascii")
            host = target.partition("://")[2].partition("/")[0] or target
            _print(f"galley: refused the connection to {host}: network access while serving is off")
            _send(self._writer, refused=host)
            writer.write(REFUSED)
            await writer.drain()
        writer.close()


async def _install(instructions: dict[str, Any], writer: asyncio.StreamWriter) -> int:
    for command in instructions["install"]:
        status = await _run(command, instructions["environment"])
        if status != 0:
            _send(writer, ended=status, during="install")
            return status
    for folder in instructions["cache_folders"] if instructions["install"] else ():
        with contextlib.suppress(OSError):
            Path(folder).mkdir()
    return 0


async def _run(command: list[str], environment: dict[str, str]) -> int:
    """Run one command. The supervisor reads its output."""
    if not any("\n" in part for part in command):  # Scripts of recipes print the commands that they run.
        _print(f"$ {' '.join(command)}")
    try:
        folder = SITE / environment["GALLEY_FOLDER"]
        process = subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL)
    except OSError as error:
        _print(f"{error.filename or command[0]}: {error.strerror}")
        return 127
    # Poll instead of using a watcher thread: the site may have used all allowed threads.
    while process.poll() is None:
        await asyncio.sleep(POLL_S)
    return process.returncode


async def _handle_requests(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: "Target") -> None:
    while line := await reader.readline():
        request = json.loads(line)
        if "find_pages" in request:
            port = await target.find_pages()
            _send(writer, listening=_listening_ports(), pages=port)
            continue
        if "path" not in request:
            _send(writer, listening=_listening_ports())
            continue
        try:
            path = SITE / request["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(base64.b64decode(request["content"]))
        except OSError as error:
            _send(writer, wrote=request["id"], error=error.strerror or "It cannot be written")
        else:
            _send(writer, wrote=request["id"], error=None)


def _listening_ports() -> list[int]:
    """Return the TCP ports on which processes of the jail listen, without the proxy."""
    ports = set()
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/self/net/{name}").read_text().splitlines()[1:]:
                columns = line.split()
                if columns[3] == LISTENING:
                    ports.add(int(columns[1].rpartition(":")[2], 16))
    return sorted(ports - {EGRESS_PORT})


def _print(text: str) -> None:
    with contextlib.suppress(OSError):
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


def _send(writer: asyncio.StreamWriter, **message: object) -> None:
    writer.write(json.dumps(message).encode() + b"\n")


class Target:
    """Port of the server to which connections are forwarded. Scripts of a site often choose a port without PORT."""

    def __init__(self, port: int) -> None:
        self._expected, self._port = port, port

    async def forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward one connection."""
        await _join(reader, writer, _connect_local(self._port))

    async def find_pages(self) -> int:
        """Return the expected port if it is open, otherwise the lowest port with pages, which becomes the target."""
        ports = _listening_ports()
        if self._expected not in ports:
            for port in ports:
                if await _has_pages(port):
                    self._port = port
                    break
        return self._port


async def _has_pages(port: int) -> bool:
    """Return whether a port answers with a page. Servers of reload scripts and of pictures do not."""
    with contextlib.suppress(OSError, asyncio.TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        reader, writer = await asyncio.wait_for(_connect_local(port), PAGE_TIMEOUT_S)
        try:
            writer.write(PAGE_REQUEST % port)
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PAGE_TIMEOUT_S)
        finally:
            writer.close()
        return PAGE.match(head) is not None
    return False


async def _connect_local(port: int) -> Any:
    """Connect to the server. Some servers listen on the IPv6 loopback only."""
    try:
        return await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return await asyncio.open_connection("::1", port)


async def _join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, opening: object) -> None:
    task = asyncio.current_task()
    _forwarding.add(task)
    try:
        await _forward(reader, writer, opening)
    finally:
        _forwarding.discard(task)


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, opening: Any) -> None:
    try:
        other_reader, other_writer = await opening
    except OSError:
        writer.close()
        return
    await asyncio.gather(_copy(reader, other_writer), _copy(other_reader, writer))
    for descriptor in (writer, other_writer):
        descriptor.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.write_eof()


def _limit(limits: dict[str, int]) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name, kind in LIMITS.items():
        hard = resource.getrlimit(kind)[1]
        value = limits[name] if hard == resource.RLIM_INFINITY else min(limits[name], hard)
        resource.setrlimit(kind, (value, value))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(min(255, abs(asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]))))))
