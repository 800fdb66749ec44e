"""`git daemon` on loopback for a folder of bare repositories."""

import contextlib
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.servers.ports import free_port

START_S = 30


@contextlib.contextmanager
def git_daemon(root: Path, *, accepts_pushes: bool = False) -> Iterator[str]:
    """Serve the repositories below a folder for the length of the block."""
    port = free_port()
    options = [f"--base-path={root}", f"--port={port}", "--export-all", "--listen=127.0.0.1", "--reuseaddr"]
    options += ["--enable=receive-pack"] if accepts_pushes else []
    process = subprocess.Popen(["git", "daemon", *options, str(root)], stderr=subprocess.DEVNULL)
    try:
        _wait(port)
        yield f"git://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _wait(port: int) -> None:
    """Wait until the server accepts connections."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise AssertionError("git daemon does not accept connections")
