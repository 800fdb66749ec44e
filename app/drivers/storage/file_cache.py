"""Cache of bytes in the files of one folder with a maximum total size. Several processes may share the folder.

Entries may disappear at any time. A failed disk operation counts as a missing entry.
"""

import hashlib
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

import structlog

from app.security.private_files import make_private_folder

log = structlog.get_logger(__name__)

DRAFT, ABANDONED_AFTER_S = ".draft-", 3_600
ACCESS_TIME_INTERVAL_S = 60.0
"""The precision of the last access time. A write for each read would cost too much."""


SIZE_CHECK_FRACTION = 16
"""The size is checked after each such fraction of the maximum was written, because a scan costs more than an entry."""


class FileCache:
    """A cache of about `max_bytes` below `folder` that evicts the least recently used entries first."""

    def __init__(self, folder: Path, *, max_bytes: int) -> None:
        self._folder, self._max_bytes = folder, max_bytes
        self._put_bytes = max_bytes  # the files of other processes are unknown

    def get(self, name: str) -> bytes | None:
        """Return the bytes of an entry, or None. The caller validates them."""
        path = self._path(name)
        try:
            with path.open("rb") as file:
                data = file.read()
                if time.time() - os.fstat(file.fileno()).st_mtime > ACCESS_TIME_INTERVAL_S:
                    os.utime(path)
        except OSError:
            return None
        return data

    def put(self, name: str, data: bytes) -> None:
        """Store the bytes atomically. An entry that cannot be stored is dropped."""
        if len(data) > self._max_bytes:
            return
        draft = self._folder / f"{DRAFT}{secrets.token_hex(8)}"
        try:
            make_private_folder(self._folder)
            draft.write_bytes(data)
            draft.rename(self._path(name))
            self._put_bytes += len(data)
            if self._put_bytes >= self._max_bytes // SIZE_CHECK_FRACTION:
                self._evict()
                self._put_bytes = 0
        except OSError as error:
            log.info("cache.write_failed", error=type(error).__name__)
            with suppress(OSError):
                draft.unlink()

    def remove(self, name: str) -> None:
        """Delete an entry."""
        try:
            self._path(name).unlink(missing_ok=True)
        except OSError as error:
            log.info("cache.delete_failed", error=type(error).__name__)

    def _path(self, name: str) -> Path:
        return self._folder / hashlib.blake2b(name.encode(), digest_size=20).hexdigest()

    def _evict(self) -> None:
        """Delete the least recently used entries above the maximum. Another process may do the same."""
        with os.scandir(self._folder) as entries:
            files = [(entry, status) for entry in entries if (status := _status(entry)) is not None]
        total_bytes = sum(status.st_size for _, status in files)
        for entry, status in sorted(files, key=lambda pair: pair[1].st_mtime):
            if entry.name.startswith(DRAFT):
                expired = time.time() - status.st_mtime > ABANDONED_AFTER_S
            else:
                expired = total_bytes > self._max_bytes
            if expired:
                Path(entry.path).unlink(missing_ok=True)
                total_bytes -= status.st_size


def _status(entry: "os.DirEntry[str]") -> os.stat_result | None:
    try:
        return entry.stat()
    except OSError:
        return None
