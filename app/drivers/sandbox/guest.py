"""The first program inside a jail: installs, serves, and carries bytes between the jail's loopback and two sockets.

Runs on its own, without this package and without site-packages. What it says is not trusted outside: the site's code
runs as the same user and could end it, which ends the sandbox.
"""

import asyncio
import base64
import contextlib
import ctypes
import json
import os
import resource
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

SITE = Path("/work")
EGRESS, EGRESS_PORT = "/run/egress.sock", 3128
PIECE_BYTES = 64 * 1024
LINE_BYTES = 4 * 1024 * 1024
POLL_S = 0.02
PR_SET_DUMPABLE = 4
LIMITS = {
    "processes": resource.RLIMIT_NPROC,
    "data_bytes": resource.RLIMIT_DATA,
    "file_bytes": resource.RLIMIT_FSIZE,
    "files": resource.RLIMIT_NOFILE,
}


async def main(serving: int, control: int) -> int:
    """Take the order from the supervisor and work it off; the status of the command that ended it all."""
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # the site's processes may not look into this one
    channel = socket.socket(fileno=control)
    reader, writer = await asyncio.open_connection(sock=channel, limit=LINE_BYTES)
    order: dict[str, Any] = json.loads(await reader.readline())
    _limit(order["limits"])
    tasks = [asyncio.create_task(_serve_writes(reader, writer))]
    await asyncio.start_unix_server(_inward(order["port"]), sock=socket.socket(fileno=serving))
    status = await _install(order, writer)
    if status == 0:
        _tell(writer, phase="starting")
        status = await _run(order["serve"], order["environment"])
        _tell(writer, ended=status, during="serve")
    await writer.drain()
    for task in tasks:
        task.cancel()
    return status


async def _install(order: dict[str, Any], writer: asyncio.StreamWriter) -> int:
    if not order["install"]:
        return 0
    outward = await asyncio.start_server(_outward, "127.0.0.1", EGRESS_PORT)
    proxy = f"http://127.0.0.1:{EGRESS_PORT}"
    ways = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), proxy)
    try:
        for command in order["install"]:
            status = await _run(command, order["environment"] | ways)
            if status != 0:
                _tell(writer, ended=status, during="install")
                return status
    finally:
        outward.close()
    for place in order["keep_folders"]:
        with contextlib.suppress(OSError):
            Path(place).mkdir()
    return 0


async def _run(command: list[str], environment: dict[str, str]) -> int:
    """Run one command; its output is the jail's own, which the supervisor keeps."""
    sys.stdout.write(f"$ {' '.join(command)}\n")
    sys.stdout.flush()
    folder = SITE / environment["GALLEY_FOLDER"]
    try:
        process = subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL)
    except OSError as error:
        sys.stdout.write(f"{command[0]}: {error.strerror}\n")
        sys.stdout.flush()
        return 127
    # Asked rather than watched: every watcher needs a thread, and a site may use up what it may have of those.
    while process.poll() is None:
        await asyncio.sleep(POLL_S)
    return process.returncode


async def _serve_writes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        wanted = json.loads(line)
        try:
            path = SITE / wanted["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(base64.b64decode(wanted["content"]))
        except OSError as error:
            _tell(writer, wrote=wanted["id"], error=error.strerror or "It cannot be written")
        else:
            _tell(writer, wrote=wanted["id"], error=None)


def _tell(writer: asyncio.StreamWriter, **words: object) -> None:
    writer.write(json.dumps(words).encode() + b"\n")


def _inward(port: int) -> Any:
    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _join(reader, writer, asyncio.open_connection("127.0.0.1", port))

    return carry


async def _outward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _join(reader, writer, asyncio.open_unix_connection(EGRESS))


async def _join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, opening: Any) -> None:
    try:
        other_reader, other_writer = await opening
    except OSError:
        writer.close()
        return
    await asyncio.gather(_carry(reader, other_writer), _carry(other_reader, writer))
    for each in (writer, other_writer):
        each.close()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await reader.read(PIECE_BYTES):
            writer.write(piece)
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
