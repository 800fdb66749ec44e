"""New objects in a repository: a file for each of a few objects (loose), or packs for many.

Git writes the same files. The data of all of them is on disk before any gets its final name, as with `core.fsync`. The
update of a ref that follows writes the names to disk. Packs and their indexes have version 2, without deltas: see
gitformat-pack(5).
"""

import errno
import hashlib
import os
import secrets
import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, NamedTuple

from app.drivers.git.object_ids import GitObject, object_header

# Each file costs an fsync. `git gc` joins packs if there are more than 50, and loose objects if there are more than
# 2,000.
MAX_LOOSE = 16
MAX_PACK_BYTES = 1 << 30
# Git compresses loose objects at this level.
COMPRESSION = 1
ATTEMPTS = 5


def write_objects(directory: Path, objects: Iterable[GitObject]) -> None:
    """Write the objects to a repository. Blocks and logs nothing: call it in a thread. Raises OSError."""
    unique = list({item.sha: item for item in objects}.values())
    if len(unique) <= MAX_LOOSE:
        _write_loose(directory / "objects", unique)
    else:
        for part in _parts(unique):
            _write_pack(directory / "objects/pack", part)


def _write_loose(folder: Path, objects: Iterable[GitObject]) -> None:
    existing: list[GitObject] = []
    with _NewFiles(folder) as files:
        for item in objects:
            path, content = _path(folder, item), object_header(item.type, item.content) + item.content
            if _refresh(path, content):
                existing.append(item)
            else:
                files.open("tmp_obj_").write(zlib.compress(content, COMPRESSION))
                files.name(path)
        files.publish()
    # `git gc` may have read the old time of an object before the refresh.
    if deleted := [item for item in existing if not _path(folder, item).exists()]:
        _write_loose(folder, deleted)


def _path(folder: Path, item: GitObject) -> Path:
    return folder / item.sha[:2] / item.sha[2:]


def _refresh(path: Path, content: bytes) -> bool:
    """Return whether a loose object exists and is complete.

    Its new time protects it from `git gc`, which deletes old unreferenced objects. A power failure can damage it.
    """
    with suppress(FileNotFoundError, zlib.error):
        os.utime(path)
        return zlib.decompressobj().decompress(path.read_bytes(), len(content) + 1) == content
    return False


def _write_pack(folder: Path, objects: Sequence[GitObject]) -> None:
    """Write a pack and its index. Git reads a pack when its index exists, so the index gets its name last."""
    folder.mkdir(exist_ok=True)
    with _NewFiles(folder) as files:
        name, entries = write_pack(files.open("tmp_pack_"), objects, COMPRESSION)
        files.name(folder / f"pack-{name.hex()}.pack")
        write_index(files.open("tmp_idx_"), name, entries)
        files.name(folder / f"pack-{name.hex()}.idx")
        files.publish()


def _parts(objects: Iterable[GitObject]) -> Iterator[list[GitObject]]:
    """Yield the objects of each pack. The index stores positions below 2 GiB."""
    part, size = list[GitObject](), 0
    for item in objects:
        if part and size + len(item.content) > MAX_PACK_BYTES:
            yield part
            part, size = [], 0
        part.append(item)
        size += len(item.content)
    yield part


class _NewFiles:
    """Temporary files of one folder that get their names together. `git gc` deletes those of a killed process."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._stack = folder, ExitStack()
        self._files: list[tuple[IO[bytes], Path]] = []
        self._names: list[Path] = []

    def __enter__(self) -> "_NewFiles":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def open(self, prefix: str) -> IO[bytes]:
        """Open a new file that only this process knows. As in Git, it cannot be changed later."""
        path = self._folder / f"{prefix}{secrets.token_hex(8)}"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
        self._stack.callback(path.unlink, missing_ok=True)
        file = self._stack.enter_context(os.fdopen(descriptor, "wb"))
        self._files.append((file, path))
        return file

    def name(self, path: Path) -> None:
        """Set the final path of the file that was opened last."""
        self._names.append(path)

    def publish(self) -> None:
        """Write the data of all files to disk, then give them their names in order."""
        for file, _ in self._files:
            file.flush()
        for file, _ in self._files:
            os.fsync(file.fileno())
        for (_, source), path in zip(self._files, self._names, strict=True):
            _rename(source, path)


def _rename(source: Path, path: Path) -> None:
    """Rename a file. `git gc` may remove an empty folder between its creation and its use."""
    for _ in range(ATTEMPTS):
        with suppress(FileExistsError):  # `exist_ok` raises if the folder is removed between the two steps of `mkdir`.
            path.parent.mkdir()
        with suppress(FileNotFoundError):
            source.replace(path)
            return
    raise FileNotFoundError(errno.ENOENT, "The file cannot be renamed", path)


_TYPES = {"commit": 1, "tree": 2, "blob": 3}
_INDEX_HEADER = b"\xfftOc\0\0\0\2"


class PackEntry(NamedTuple):
    """The position of an object in a pack, and the checksum of its packed bytes."""

    sha: bytes
    checksum: int
    position: int


def write_pack(file: IO[bytes], objects: Sequence[GitObject], level: int) -> tuple[bytes, list[PackEntry]]:
    """Write a pack. Return its hash, which is also its name, and its entries."""
    entries: list[PackEntry] = []
    header = b"PACK" + struct.pack(">II", 2, len(objects))
    digest, position = hashlib.sha1(header, usedforsecurity=False), file.write(header)
    for item in objects:
        data = _entry_header(item) + zlib.compress(item.content, level)
        entries.append(PackEntry(bytes.fromhex(item.sha), zlib.crc32(data), position))
        digest.update(data)
        position += file.write(data)
    file.write(digest.digest())
    return digest.digest(), entries


def write_index(file: IO[bytes], name: bytes, entries: Iterable[PackEntry]) -> None:
    """Write the index of a pack smaller than 2 GiB: counts by first byte, ids, checksums and positions, sorted by id."""
    ordered = sorted(entries)
    first_bytes = [entry.sha[0] for entry in ordered]
    counts = [bisect_right(first_bytes, byte) for byte in range(256)]
    count = len(ordered)
    data = b"".join(
        (
            _INDEX_HEADER,
            struct.pack(">256I", *counts),
            *(entry.sha for entry in ordered),
            struct.pack(f">{count}I", *(entry.checksum for entry in ordered)),
            struct.pack(f">{count}I", *(entry.position for entry in ordered)),
            name,
        )
    )
    file.write(data + hashlib.sha1(data, usedforsecurity=False).digest())


def _entry_header(item: GitObject) -> bytes:
    """Return the type and the size: 4 bits of the size in the first byte, 7 in each further byte."""
    size = len(item.content)
    byte, size = _TYPES[item.type] << 4 | size & 0x0F, size >> 4
    header = bytearray()
    while size:
        header.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    header.append(byte)
    return bytes(header)
