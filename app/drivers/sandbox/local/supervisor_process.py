"""Start of the supervisor process of a sandbox."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.drivers.sandbox.local.supervisor import disk_image
from app.drivers.sandbox.port import SandboxUnavailable

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
