"""Client of the supervisor of a sandbox: its start, its lock, its sockets and its commands."""

import fcntl
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from app.drivers.errors import UpstreamRejected
from app.drivers.sandbox.local.supervisor import disk_image
from app.drivers.sandbox.port import SandboxEnded, SandboxUnavailable

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


ROOT = Path(__file__).resolve().parents[4]
BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from app.drivers.sandbox.local.supervisor.main import main; main(sys.argv[2])"
)
"""Start of the supervisor process. It imports the standard library and the supervisor package only."""


class SupervisorProcess:
    """A supervisor that waits for the files of its site."""

    def __init__(self, process: "subprocess.Popen[bytes]", pid: int) -> None:
        self.pid, self._process = pid, process

    def release(self) -> None:
        """Let the supervisor start the jail."""
        stream: Any = self._process.stdin  # a pipe
        stream.write(b"\n")
        stream.flush()


@contextmanager
def start_supervisor(folder: Path) -> Iterator[SupervisorProcess]:
    """Start the supervisor of a folder. It ends if the block ends before `release`. Raises SandboxUnavailable."""
    command = [sys.executable, "-I", "-S", "-B", "-c", BOOT, str(ROOT), str(folder)]
    if (folder / "disk.img").exists():
        command = ["unshare", "--mount", "--propagation", "private", *command]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PATH": disk_image.SYSTEM_PATH},
        start_new_session=True,
    ) as process:
        line = process.stdout.readline() if process.stdout else b""
        if not line.strip().isdigit():
            raise SandboxUnavailable("The supervisor of the sandbox could not be started")
        yield SupervisorProcess(process, int(line))
