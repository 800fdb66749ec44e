"""Objects as files below one folder: for one node, or for several that share the folder."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from app.core.threadpool import offload
from app.drivers.errors import Absent
from app.drivers.storage.port import CHUNK_BYTES, ObjectMissing, StoredObject, checked

PARTS = ".parts"
"""Where files grow before they get their name; no key starts with a dot."""

ABANDONED_AFTER_S = 86_400
OWNER_ONLY = 0o600

_NOTHING_THERE = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


class LocalStore:
    """Writes beside the place, to disk, then renames: a reader finds the whole object or none, also after a crash."""

    def __init__(self, directory: Path) -> None:
        """Use `directory`, made when the first object comes."""
        self._root = directory

    def put(self, key: str, source: BinaryIO, *, mimetype: str) -> None:
        """Write the object; in a thread, because fsync would hold up every other request."""
        place = self._place(key)
        with _telling():
            offload(self._write, place, source)

    def get(self, key: str, *, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Open the file now, read it as it is asked for. Raises ObjectMissing."""
        place = self._place(key)
        with _telling():
            try:
                file = place.open("rb")
            except _NOTHING_THERE as error:
                self._check_root()
                raise ObjectMissing("There is no such object") from error
            file.seek(start)
        return _pieces(file, length)

    def head(self, key: str) -> StoredObject | None:
        """Size and time of the file."""
        place = self._place(key)
        with _telling():
            return self._described(key, place)

    def delete(self, key: str) -> None:
        """Remove the file. Its folder stays: another upload may be about to use it."""
        place = self._place(key)
        with _telling():
            try:
                place.unlink()
            except _NOTHING_THERE:
                self._check_root()

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[StoredObject]:
        """Walk the folder; also forgets what a process that died left half written a day ago."""
        with _telling():
            self._forget_abandoned()
            keys = sorted(key for key in self._keys() if key.startswith(prefix) and key > after)
        for key in keys:
            found = self.head(key)
            if found is not None:
                yield found

    def public_url(self, key: str) -> str | None:
        """None: the files are served by the service itself."""
        return None

    def _check_root(self) -> None:
        """Tell nothing being there from the folder itself being something else. Raises NotADirectoryError."""
        if self._root.exists() and not self._root.is_dir():
            raise NotADirectoryError(self._root)

    def _place(self, key: str) -> Path:
        return self._root / checked(key)

    def _described(self, key: str, place: Path) -> StoredObject | None:
        try:
            facts = place.stat()
        except _NOTHING_THERE:
            self._check_root()
            return None
        if place.is_dir():
            return None
        return StoredObject(key, facts.st_size, datetime.fromtimestamp(facts.st_mtime, UTC))

    def _write(self, place: Path, source: BinaryIO) -> None:
        parts = self._root / PARTS
        for folder in (parts, place.parent):
            folder.mkdir(parents=True, exist_ok=True)
        draft = parts / secrets.token_hex(16)
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY), "wb") as out:
                while piece := source.read(CHUNK_BYTES):
                    out.write(piece)
                out.flush()
                os.fsync(out.fileno())
            draft.rename(place)
            _sync_folder(place.parent)
        finally:
            draft.unlink(missing_ok=True)

    def _keys(self) -> Iterator[str]:
        for folder, folders, files in os.walk(self._root):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in files:
                if not name.startswith("."):
                    yield (Path(folder) / name).relative_to(self._root).as_posix()

    def _forget_abandoned(self) -> None:
        now_s = datetime.now(UTC).timestamp()
        for draft in (self._root / PARTS).glob("*"):
            if draft.stat().st_mtime < now_s - ABANDONED_AFTER_S:
                draft.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make the new name itself survive a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _pieces(file: BinaryIO, length: int | None) -> Iterator[bytes]:
    left = length
    with file:
        while left is None or left > 0:
            piece = file.read(CHUNK_BYTES if left is None else min(CHUNK_BYTES, left))
            if not piece:
                return
            left = None if left is None else left - len(piece)
            yield piece


@contextmanager
def _telling() -> Iterator[None]:
    """The file system's failures in our words; a full disk and a file-size limit are the store being unavailable."""
    try:
        yield
    except OSError as error:
        raise Absent("The media folder cannot be used right now", retry_after_s=30) from error
