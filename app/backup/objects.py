"""Stored objects as files, each with its hash in a list; knows no images."""

import hashlib
import mimetypes
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson

from app.backup.lines import Hashing, LineWriter
from app.backup.manifest import BackupError
from app.drivers.storage.port import ObjectMissing, ObjectStore, checked

FOLDER = "objects"


def save(store: ObjectStore, target: Path, listed: LineWriter) -> None:
    """Copy every object that is not among the copies yet; objects never change under their key."""
    for found in store.list():
        place = target / FOLDER / found.key
        if place.exists():
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            with place.open("xb") as file:
                hashing = Hashing(file)
                for piece in store.get(found.key):
                    hashing.write(piece)
        except ObjectMissing:  # deleted since it was listed
            place.unlink()
            continue
        listed.write(orjson.dumps([found.key, hashing.size, hashing.digest.hexdigest()]))


def restore(store: ObjectStore, source: Path, lines: Iterable[bytes]) -> None:
    """Put every object back.

    Raises:
        BackupError: a copy is missing or damaged.
    """
    for line in lines:
        key, _, sha256 = orjson.loads(line)
        place = source / FOLDER / checked(key)
        try:
            with place.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                    raise BackupError(f"The copy of the object {key} is damaged.")
                file.seek(0)
                store.put(key, file, mimetype=mimetypes.guess_type(key)[0] or "application/octet-stream")
        except OSError as error:
            raise BackupError(f"The copy of the object {key} is not to be had: {error.strerror}.") from error


def differences(store: ObjectStore, lines: Iterable[bytes]) -> Iterator[str]:
    """What the store has otherwise than the list says."""
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
    """Whether there is a copy."""
    return (target / FOLDER / key).exists()


def forget(target: Path) -> None:
    """Take the copies away again."""
    shutil.rmtree(target / FOLDER, ignore_errors=True)
