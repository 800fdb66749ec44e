"""Client of the supervisor of a sandbox: its lock, its sockets and its commands."""

import fcntl
import json
import os
import socket
import time
from contextlib import closing
from pathlib import Path

from app.drivers.errors import UpstreamRejected
from app.drivers.sandbox.port import SandboxEnded

COMMAND_TIMEOUT_S = 15
ENDED = "The preview has ended"


def is_supervised(folder: Path) -> bool:
    """Return whether the supervisor runs. The kernel frees the lock of the folder when the process ends."""
    try:
        lock = os.open(folder / "lock", os.O_WRONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def wait_for_end(folder: Path, timeout_s: float) -> None:
    """Wait until the supervisor has ended, at most `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while is_supervised(folder) and time.monotonic() < deadline:
        time.sleep(0.02)


def send_command(folder: Path, *, timeout_s: float = COMMAND_TIMEOUT_S, **command: object) -> None:
    """Send a command and wait for its result.

    Raises:
        SandboxEnded: the supervisor has ended.
        UpstreamRejected: the command failed.
    """
    with closing(connect(folder, "control.sock")) as connection:
        connection.settimeout(timeout_s)
        connection.sendall(json.dumps(command).encode() + b"\n")
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    if not answer:
        raise SandboxEnded(ENDED)
    error = json.loads(answer)["error"]
    if error is not None:
        raise UpstreamRejected(f"The file could not be written: {error}")


def connect(folder: Path, name: str) -> socket.socket:
    """Connect to a socket of the folder. Raises SandboxEnded.

    The path of the folder may be longer than a socket address (108 bytes).
    """
    if not is_supervised(folder):
        raise SandboxEnded(ENDED)
    descriptor = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(f"/proc/self/fd/{descriptor}/{name}")
    except OSError as error:
        connection.close()
        raise SandboxEnded(ENDED) from error
    finally:
        os.close(descriptor)
    return connection


def port_of_site(folder: Path) -> int:
    """Return the port of the site's server in the jail. Raises SandboxEnded."""
    try:
        return int(json.loads((folder / "spec.json").read_text())["port"])
    except (OSError, ValueError, KeyError) as error:
        raise SandboxEnded(ENDED) from error
