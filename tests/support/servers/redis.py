"""Temporary Redis on loopback, and a gate in front of it that can be closed."""

import contextlib
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.programs import required_program
from tests.support.servers.ports import free_port


class Redis:
    """A Redis server without files on disk. It runs until it is stopped."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.folder = folder
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self.folder)]
        self.process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise TimeoutError("redis-server did not start")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(120)


@contextlib.contextmanager
def redis_server(folder: Path) -> Iterator[Redis]:
    """Run Redis for the length of the block. Skip the test if Redis is not installed, except under CI."""
    required_program("redis-server")
    running = Redis(folder)
    try:
        yield running
    finally:
        running.stop()


class Gate:
    """A forwarder of connections to a loopback port. A closed gate breaks its connections and refuses new ones."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._links: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._serve()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def shut(self) -> None:
        for one in (self._listener, *self._links):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._links.clear()

    def reopen(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._serve()

    def _serve(self) -> None:
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection(("127.0.0.1", self._to))
                self._links += [near, far]
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=_pump, args=(source, sink), daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_RDWR)
