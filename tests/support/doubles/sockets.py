"""A peer that sends a script of bytes and pauses, for responses that no valid server sends."""

import socket
import threading
from collections.abc import Sequence
from types import TracebackType

Script = Sequence[bytes | float]


class RawPeer:
    """A server that reads the head of a request and runs a script: bytes are sent, numbers are pauses in seconds.

    The end of the block ends a pause.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.heads: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> "RawPeer":
        self._thread.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self._closed.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self._play(connection)

    def _play(self, connection: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head and (piece := connection.recv(65536)):
            head += piece
        self.heads.append(head.decode(errors="replace"))
        try:
            for step in self.script:
                if isinstance(step, bytes):
                    connection.sendall(step)
                elif self._closed.wait(step):
                    return
        except OSError:
            return
