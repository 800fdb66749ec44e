"""Ring buffer of the output of a sandbox, in two files."""

import threading
from pathlib import Path


class LogRing:
    """Log of at most `limit` bytes in `<folder>/log` and `<folder>/log.1`."""

    def __init__(self, folder: Path, limit: int) -> None:
        self._path, self._half = folder / "log", limit // 2
        self._file = self._path.open("ab", buffering=0)
        self._lock = threading.Lock()

    def add(self, piece: bytes) -> None:
        """Append output. Delete the older file when the newer one is full."""
        with self._lock:
            if self._file.tell() + len(piece) > self._half:
                self._file.close()
                self._path.replace(self._path.with_suffix(".1"))
                self._file = self._path.open("ab", buffering=0)
            self._file.write(piece[-self._half :])


def tail(folder: Path, size_bytes: int) -> str:
    """Return the last `size_bytes` bytes as text."""
    data = b""
    for name in ("log.1", "log"):
        try:
            data += (folder / name).read_bytes()
        except FileNotFoundError:
            continue
    return data[-size_bytes:].decode(errors="replace")
