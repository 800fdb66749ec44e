"""The formats of a pack (version 2) without deltas and of its index (version 2): see gitformat-pack(5)."""

import hashlib
import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import IO, NamedTuple

from app.drivers.git.object_ids import GitObject

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
