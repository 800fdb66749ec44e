"""Bytes kept in files of one folder, up to so many in all; several processes may share it, and any entry may vanish.

A cache: nothing is promised to be there again, and a disk that fails is the same as nothing being there.
"""

import hashlib
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

import structlog

log = structlog.get_logger(__name__)

DRAFT, ABANDONED_AFTER_S = ".draft-", 3_600
USED_EVERY_S = 60.0
"""How exactly the time of the last use is kept: a write for every read would cost more than it tells."""


LOOKED_AT_EVERY = 16
"""Room is made after each such part of what may be kept was put: looking through the folder costs more than an entry."""


class FileCache:
    """About `max_bytes` below `folder`; what has not been used for the longest time goes first."""

    def __init__(self, folder: Path, *, max_bytes: int) -> None:
        self._folder, self._max_bytes = folder, max_bytes
        self._put_bytes = max_bytes  # unknown what others have put

    def get(self, name: str) -> bytes | None:
        """What was last put under the name, as long as it is there; whoever reads it knows whether it is sound."""
        place = self._place(name)
        try:
            with place.open("rb") as file:
                data = file.read()
                if time.time() - os.fstat(file.fileno()).st_mtime > USED_EVERY_S:
                    os.utime(place)
        except OSError:
            return None
        return data

    def put(self, name: str, data: bytes) -> None:
        """Keep the bytes; readers see all of them or what was there before. What cannot be kept is not."""
        if len(data) > self._max_bytes:
            return
        draft = self._folder / f"{DRAFT}{secrets.token_hex(8)}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(data)
            draft.rename(self._place(name))
            self._put_bytes += len(data)
            if self._put_bytes >= self._max_bytes // LOOKED_AT_EVERY:
                self._make_room()
                self._put_bytes = 0
        except OSError as error:
            log.info("cache.not_kept", error=type(error).__name__)
            with suppress(OSError):
                draft.unlink()

    def forget(self, name: str) -> None:
        """Make sure that nothing is kept under the name."""
        try:
            self._place(name).unlink(missing_ok=True)
        except OSError as error:
            log.info("cache.not_forgotten", error=type(error).__name__)

    def _place(self, name: str) -> Path:
        return self._folder / hashlib.blake2b(name.encode(), digest_size=20).hexdigest()

    def _make_room(self) -> None:
        """Delete the longest unused until the rest fits; another process may be doing the same."""
        with os.scandir(self._folder) as entries:
            found = [(entry, facts) for entry in entries if (facts := _facts(entry)) is not None]
        taken = sum(facts.st_size for _, facts in found)
        for entry, facts in sorted(found, key=lambda pair: pair[1].st_mtime):
            if entry.name.startswith(DRAFT):
                goes = time.time() - facts.st_mtime > ABANDONED_AFTER_S
            else:
                goes = taken > self._max_bytes
            if goes:
                Path(entry.path).unlink(missing_ok=True)
                taken -= facts.st_size


def _facts(entry: "os.DirEntry[str]") -> os.stat_result | None:
    try:
        return entry.stat()
    except OSError:
        return None
