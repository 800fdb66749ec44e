"""Stored trees in parts of consecutive paths.

After a commit, only the parts with changed paths are packed and stored again.

An object contains new parts, then the table of all parts of its tree. The table names the older objects in which the
other parts are. So the work after a commit does not depend on the size of the tree.
"""

import hashlib
import struct
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import orjson

from app.database import inserts
from app.drivers.git.port import EntryType
from app.models.project_content import ContentIndex
from app.resources.project_content.tree import packed_tree, tree_rows
from app.resources.project_content.tree.packed_tree import PackedPart

PART_FILES = 500
MAX_OBJECTS = 16
"""A tree in more objects is stored again as one object, without reading its rows."""

MAX_CHANGES = 5_000
"""After more changed paths the whole tree is packed again."""

_ADDRESS_BYTES = 20
_TRAILER = struct.Struct("<4sII")
"""A marker of the format, the length of the table, CRC-32 of all bytes before."""

_MARKER = b"tree"
ReadObject = Callable[[str], bytes]


@dataclass(frozen=True)
class TreePart:
    """A part of a tree: its first path, number of blobs, and packed files, here or at an offset in an object."""

    first: str
    blobs: int
    crc: int
    length: int
    size: int
    packed: bytes | None = None
    object: str = ""
    offset: int = 0


def pack(entries: list[dict[str, Any]]) -> TreePart:
    """Pack the files of one part."""
    packed = packed_tree.pack(entries)
    blobs = sum(entry["type"] == EntryType.BLOB for entry in entries)
    return TreePart(entries[0]["path"], blobs, packed.crc, packed.length, len(packed.data), packed.data)


def pack_all(entries: Iterable[dict[str, object]]) -> list[TreePart]:
    """Pack all files of a tree."""
    return [pack(some) for some in inserts.batches(entries, PART_FILES)]


def extend_changes(index: ContentIndex, commit_sha: str, paths: Iterable[str]) -> dict[str, object] | None:
    """Return the changes since the stored tree if the index moves to a commit, or None if they are unknown or too many.

    A version that does not record changes moves the index only. Then the commits differ, and the changes are unknown.
    """
    recorded_paths = _known_changes(index)
    if recorded_paths is None or index.commit_sha is None:
        return None
    changed = sorted({*recorded_paths, *paths})
    return _changes(str(index.snapshot_sha), commit_sha, changed) if len(changed) <= MAX_CHANGES else None


def no_changes(commit_sha: str) -> dict[str, object]:
    """Return the changes of an index whose tree has been stored."""
    return _changes(commit_sha, commit_sha, [])


def can_update(index: ContentIndex) -> bool:
    """Return whether the stored tree and the changes since then are known."""
    return index.snapshot_key is not None and _known_changes(index) is not None


def update(index: ContentIndex, stored: list[TreePart]) -> list[TreePart] | None:
    """Return the parts of the index's commit: those of the stored tree, and the changed ones packed from the rows.

    None if their blobs are not those that the index counts.

    Raises:
        IndexMoved: the index has another commit.
    """
    if not stored:
        return None
    paths = _known_changes(index) or []
    firsts = [part.first for part in stored]
    numbers = sorted({max(bisect_right(firsts, path) - 1, 0) for path in paths})
    # The ranges of the first and of the last part are open, so that every path belongs to one part.
    starts = ["", *firsts[1:]]
    selected = [(starts[n], starts[n + 1] if n + 1 < len(starts) else None) for n in numbers]
    changed = dict(zip(numbers, map(_split, tree_rows.ranges(index, selected)), strict=True))
    parts = [part for n, old in enumerate(stored) for part in changed.get(n, [old])]
    return parts if sum(part.blobs for part in parts) == index.files else None


def encode(parts: list[TreePart], prefix: str) -> tuple[str, bytes]:
    """Return the key and the bytes of an object with the packed parts among `parts` and the table of all."""
    pieces, offset, table = [], 0, []
    objects = sorted({part.object for part in parts if part.packed is None})
    numbers = {name: number for number, name in enumerate(objects, 1)}
    for part in parts:
        location = (0, offset) if part.packed is not None else (numbers[part.object], part.offset)
        table.append((part.first, part.blobs, part.crc, part.length, part.size, *location))
        if part.packed is not None:
            pieces.append(part.packed)
            offset += part.size
    encoded = orjson.dumps({"objects": objects, "parts": table})
    body = b"".join([*pieces, encoded])
    key = f"{prefix}{hashlib.blake2b(body, digest_size=_ADDRESS_BYTES).hexdigest()}"
    return key, body + _TRAILER.pack(_MARKER, len(encoded), zlib.crc32(body))


def is_valid(data: bytes) -> bool:
    """Return whether the bytes of an object are complete and unchanged."""
    if len(data) <= _TRAILER.size:
        return False
    marker, length, crc = _TRAILER.unpack(data[-_TRAILER.size :])
    body = memoryview(data)[: -_TRAILER.size]
    return bool(marker == _MARKER and length <= len(body) and zlib.crc32(body) == crc)


def decode(key: str, data: bytes) -> list[TreePart]:
    """Return the parts of a tree from its newest object."""
    _, length, _ = _TRAILER.unpack(data[-_TRAILER.size :])
    table = orjson.loads(data[-_TRAILER.size - length : -_TRAILER.size])
    objects = [key, *table["objects"]]
    return [
        TreePart(first, blobs, crc, length, size, object=objects[number], offset=offset)
        for first, blobs, crc, length, size, number, offset in table["parts"]
    ]


def objects_of(parts: Iterable[TreePart]) -> set[str]:
    """Return the keys of the objects that contain the parts."""
    return {part.object for part in parts if part.packed is None}


def loaded(parts: list[TreePart], read: ReadObject) -> Iterator[TreePart]:
    """Yield the parts with their packed files."""
    objects = {key: read(key) for key in objects_of(parts)}
    for part in parts:
        if part.packed is not None:
            yield part
        else:
            yield replace(part, packed=objects[part.object][part.offset : part.offset + part.size])


def join(parts: list[TreePart], read: ReadObject) -> bytes:
    """Return the packed files of the whole tree."""
    return packed_tree.join(PackedPart(part.packed or b"", part.crc, part.length) for part in loaded(parts, read))


def _split(entries: list[dict[str, object]]) -> list[TreePart]:
    """Pack the files of a changed part: as one part, as several if it has become large, as none if it is empty."""
    if not entries:
        return []
    count = max(1, len(entries) // PART_FILES)
    bounds = [len(entries) * number // count for number in range(count + 1)]
    return [pack(entries[start:end]) for start, end in pairwise(bounds)]


def _known_changes(index: ContentIndex) -> list[str] | None:
    changes = index.snapshot_changes
    if not changes or (changes["from"], changes["to"]) != (index.snapshot_sha, index.commit_sha):
        return None
    paths: list[str] = changes["paths"]
    return paths


def _changes(start: str, end: str, paths: list[str]) -> dict[str, object]:
    return {"from": start, "to": end, "paths": paths}
