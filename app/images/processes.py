"""Client of the fork server of images. It starts the server, and starts it again if the system ended it."""

import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from app.core.errors import ServiceUnavailable
from app.images.fork_server import STARTED

START_TIMEOUT_S = 20
SCRIPT = Path(__file__).with_name("fork_server.py")


class ForkServer:
    """The client of the fork server. The server starts with the first image and ends with this process."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None
        self._lock = threading.Lock()

    def start_process(self, message: bytes, files: Sequence[int]) -> None:
        """Start a process with a message and inherited descriptors. Raises ServiceUnavailable."""
        with self._lock:
            if self._sent(message, files):
                return
            # The server did not run, or the system ended it.
            self._stop()
            self._start()
            if not self._sent(message, files):
                raise ServiceUnavailable("Images cannot be processed at the moment. Try again later", retry_after_s=30)

    def stop(self) -> None:
        """End the server. The next image starts another one."""
        with self._lock:
            self._stop()

    def _sent(self, message: bytes, files: Sequence[int]) -> bool:
        if self._requests is None:
            return False
        try:
            socket.send_fds(self._requests, [message], files)
            return self._requests.recv(1) == STARTED
        except OSError:
            return False

    def _start(self) -> None:
        self._requests, theirs = socket.socketpair()
        self._requests.settimeout(START_TIMEOUT_S)
        with theirs:
            self.process = subprocess.Popen(
                # -I: neither the working directory nor the environment decides what is imported.
                [sys.executable, "-I", str(SCRIPT)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,
            )

    def _stop(self) -> None:
        if self._requests is not None:
            self._requests.close()
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self._requests = self.process = None


fork_server = ForkServer()
