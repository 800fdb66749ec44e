"""Object store in the files of one folder, for one node or for nodes that share the folder."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from app.concurrency.threadpool import offload
from app.drivers.errors import UpstreamUnavailable
from app.drivers.storage.port import CHUNK_BYTES, ObjectMissing, StoredObject, checked
from app.security.private_files import make_private_folder

PARTS = ".parts"
"""The folder of partial files. No key starts with a dot."""

ABANDONED_AFTER_S = 86_400
OWNER_ONLY = 0o600

_MISSING = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


class LocalStore:
    """A store that writes to a temporary file, synchronizes it and renames it: readers see complete objects only."""

    def __init__(self, directory: Path) -> None:
        """Use `directory`, which the first `put` creates."""
        self._root = directory

    def put(self, key: str, source: IO[bytes], *, mimetype: str) -> None:
        """Write the object in a thread, because fsync would block every other request."""
        path = self._path(key)
        with _translated_errors():
            offload(self._write, path, source)

    def get(self, key: str, *, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Open the file now and read it lazily. Raises ObjectMissing."""
        path = self._path(key)
        with _translated_errors():
            try:
                file = path.open("rb")
            except _MISSING as error:
                self._check_root()
                raise ObjectMissing("The object does not exist") from error
            file.seek(start)
        return _pieces(file, length)

    def head(self, key: str) -> StoredObject | None:
        """Return the size and time of the file."""
        path = self._path(key)
        with _translated_errors():
            return self._describe(key, path)

    def delete(self, key: str) -> None:
        """Delete the file. The folder stays, because another upload may use it."""
        path = self._path(key)
        with _translated_errors():
            try:
                path.unlink()
            except _MISSING:
                self._check_root()

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[StoredObject]:
        """Walk the folder, and delete partial files that are older than a day."""
        with _translated_errors():
            self._delete_abandoned()
            keys = sorted(key for key in self._keys() if key.startswith(prefix) and key > after)
        for key in keys:
            stored = self.head(key)
            if stored is not None:
                yield stored

    def public_url(self, key: str) -> str | None:
        """Return None: the service serves the files."""
        return None

    def _check_root(self) -> None:
        """Distinguish a missing object from an invalid root folder. Raises NotADirectoryError."""
        if self._root.exists() and not self._root.is_dir():
            raise NotADirectoryError(self._root)

    def _path(self, key: str) -> Path:
        return self._root / checked(key)

    def _describe(self, key: str, path: Path) -> StoredObject | None:
        try:
            status = path.stat()
        except _MISSING:
            self._check_root()
            return None
        if path.is_dir():
            return None
        return StoredObject(key, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))

    def _write(self, path: Path, source: IO[bytes]) -> None:
        parts = self._root / PARTS
        for folder in (parts, path.parent):
            make_private_folder(folder)
        draft = parts / secrets.token_hex(16)
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY), "wb") as out:
                while piece := source.read(CHUNK_BYTES):
                    out.write(piece)
                out.flush()
                os.fsync(out.fileno())
            draft.rename(path)
            _sync_folder(path.parent)
        finally:
            draft.unlink(missing_ok=True)

    def _keys(self) -> Iterator[str]:
        for folder, folders, files in os.walk(self._root):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in files:
                if not name.startswith("."):
                    yield (Path(folder) / name).relative_to(self._root).as_posix()

    def _delete_abandoned(self) -> None:
        now_s = datetime.now(UTC).timestamp()
        for draft in (self._root / PARTS).glob("*"):
            # An upload renames its file at any time.
            with suppress(FileNotFoundError):
                if draft.stat().st_mtime < now_s - ABANDONED_AFTER_S:
                    draft.unlink()


def _sync_folder(folder: Path) -> None:
    """Synchronize the folder, so that the new name survives a power failure."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _pieces(file: IO[bytes], length: int | None) -> Iterator[bytes]:
    remaining = length
    with file:
        while remaining is None or remaining > 0:
            piece = file.read(CHUNK_BYTES if remaining is None else min(CHUNK_BYTES, remaining))
            if not piece:
                return
            remaining = None if remaining is None else remaining - len(piece)
            yield piece


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Raise UpstreamUnavailable for errors of the file system, for example a full disk."""
    try:
        yield
    except OSError as error:
        raise UpstreamUnavailable("The media folder is not available", retry_after_s=30) from error
