"""Copies of stored objects as files, and a list of their hashes."""

import hashlib
import mimetypes
from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson

from app.backup.json_lines import HashingWriter, LineWriter
from app.backup.manifest import BackupError
from app.drivers.storage.port import ObjectMissing, ObjectStore, checked
from app.resources.site_build.storing import PREFIX as BUILDS

FOLDER = "objects"


def save(store: ObjectStore, target: Path, listed: LineWriter) -> None:
    """Copy every object that has no copy yet, except the output of builds. The content of a key never changes."""
    for item in store.list():
        path = target / FOLDER / item.key
        if item.key.startswith(BUILDS) or path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("xb") as file:
                hashing = HashingWriter(file)
                for piece in store.get(item.key):
                    hashing.write(piece)
        except ObjectMissing:  # deleted after it was listed
            path.unlink()
            continue
        listed.write(orjson.dumps([item.key, hashing.size, hashing.digest.hexdigest()]))


def restore(store: ObjectStore, source: Path, lines: Iterable[bytes]) -> None:
    """Restore every object.

    Raises:
        BackupError: a copy is missing or damaged.
    """
    for line in lines:
        key, _, sha256 = orjson.loads(line)
        path = source / FOLDER / checked(key)
        try:
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                    raise BackupError(f"The backup copy of object {key} is damaged.")
                file.seek(0)
                store.put(key, file, mimetype=mimetypes.guess_type(key)[0] or "application/octet-stream")
        except OSError as error:
            raise BackupError(f"Cannot read the backup copy of object {key}: {error.strerror}.") from error


def differences(store: ObjectStore, lines: Iterable[bytes]) -> Iterator[str]:
    """Yield each difference between the object store and the list."""
    for line in lines:
        key, size, sha256 = orjson.loads(line)
        digest, held = hashlib.sha256(), 0
        try:
            for piece in store.get(key):
                digest.update(piece)
                held += len(piece)
        except ObjectMissing:
            yield f"object {key} is missing"
            continue
        if (held, digest.hexdigest()) != (size, sha256):
            yield f"object {key} differs"


def has(target: Path, key: str) -> bool:
    """Return whether the backup contains a copy of the object."""
    return (target / FOLDER / key).exists()
