"""Finding paths in a commit's trees, and reading `ls-tree` and `diff-tree`; writes nothing.

Paths that are not valid UTF-8 cannot be named in the service (limits, section 1), so they are left out everywhere.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from app.drivers.git.local_catfile import CatFiles, Found
from app.drivers.git.local_commands import fields, stream
from app.drivers.git.port import EntryType, ObjectNotFound, PathChange, TreeEntry

FOLDER = "tree"
CHUNK = 512
_NO_MODE = b"000000"
_TREE_LINE = re.compile(rb"([0-7]{5,6}) ([^\0]+)\0(.{20})", re.DOTALL)


class Tree:
    """One commit's tree, read folder by folder as paths are asked for."""

    def __init__(self, objects: CatFiles, directory: Path, commit: str) -> None:
        self._objects, self._directory = objects, directory
        self._folders: dict[str, dict[bytes, tuple[bytes, bytes]]] = {}
        self._root = f"{commit}^{{tree}}"
        self._folder(self._root)

    def find(self, path: str) -> TreeEntry | None:
        """What a path names, without its size; a folder has the type `tree`."""
        folder = self._root
        *above, name = path.encode().split(b"/")
        for part in above:
            mode, folder = self._read(folder, part)
            if entry_type(mode) != FOLDER:
                return None
        mode, sha = self._read(folder, name)
        return TreeEntry(path, entry_type(mode), mode, sha, None) if mode else None

    def files(self, folder: TreeEntry) -> Iterator[str]:
        """Every path below a folder, those that are not valid UTF-8 too (with escapes, as no caller can write them)."""
        for name in self._folder(folder.sha):
            mode, sha = self._read(folder.sha, name)
            path = f"{folder.path}/{name.decode(errors='surrogateescape')}"
            entry = TreeEntry(path, entry_type(mode), mode, sha, None)
            if entry.type == FOLDER:
                yield from self.files(entry)
            else:
                yield entry.path

    def _read(self, folder: str, name: bytes) -> tuple[str, str]:
        """Mode and sha of a name in a folder; two empty words when it is not there."""
        mode, sha = self._folder(folder).get(name, (b"", b""))
        return mode.decode().zfill(6) if mode else "", sha.hex()

    def _folder(self, name: str) -> dict[bytes, tuple[bytes, bytes]]:
        if name not in self._folders:
            found, data = self._objects.one(self._directory, name)
            if found.type != FOLDER:
                raise ObjectNotFound("There is no such commit in the repository")
            self._folders[name] = {part: (mode, sha) for mode, part, sha in _TREE_LINE.findall(data)}
        return self._folders[name]


def entry_type(mode: str) -> str:
    """The object type that a mode stands for."""
    return {"040000": FOLDER, "160000": EntryType.COMMIT.value}.get(mode, EntryType.BLOB.value)


def utf8(name: bytes) -> str | None:
    """A name as text, None when it is not valid UTF-8."""
    try:
        return name.decode()
    except UnicodeDecodeError:
        return None


def list_tree(directory: Path, commit: str, *, timeout_s: float) -> Iterator[TreeEntry]:
    """Stream every file of an existing commit with its size."""
    for record in fields(stream(directory, "ls-tree", "-r", "-l", "-z", "--full-tree", commit, timeout_s=timeout_s)):
        about, _, name = record.partition(b"\t")
        mode, kind, sha, size = about.decode().split()
        if (path := utf8(name)) is not None:
            yield TreeEntry(path, kind, mode, sha, int(size) if size.isdigit() else None)


def list_changes(directory: Path, old: str, new: str, *, timeout_s: float) -> Iterator[PathChange]:
    """Stream what differs between two existing commits, without sizes."""
    command = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old, new, "--")
    records = fields(stream(directory, *command, timeout_s=timeout_s))
    for about in records:
        path = utf8(next(records))
        _, mode, _, sha, _ = about.split()
        if path is None:
            continue
        kind = entry_type(mode.decode())
        entry = None if mode == _NO_MODE else TreeEntry(path, kind, mode.decode(), sha.decode(), None)
        yield PathChange(path, entry)


def sized(objects: CatFiles, directory: Path, changes: Iterable[PathChange]) -> Iterator[PathChange]:
    """Add the sizes of blobs, a chunk at a time."""
    waiting = iter(changes)
    while chunk := list(islice(waiting, CHUNK)):
        shas = {entry.sha for _, entry in chunk if entry is not None and entry.type == EntryType.BLOB}
        found = {blob.sha: blob for blob in objects.check(directory, shas) if blob is not None}
        for path, entry in chunk:
            yield PathChange(path, entry and entry._replace(size=_size(found.get(entry.sha))))


def _size(blob: Found | None) -> int | None:
    return blob.size if blob else None
