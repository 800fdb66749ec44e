"""The trees of commits, read from tree objects, `ls-tree` and `diff-tree`.

The service does not support paths that are not valid UTF-8 (limits, section 1), so they are skipped.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from app.drivers.git.errors import GitObjectMissing
from app.drivers.git.local.catfile import CatFiles, ObjectHeader
from app.drivers.git.local.commands import fields, stream
from app.drivers.git.port import EntryType, PathChange, TreeEntry

FOLDER = "tree"
CHUNK = 512
MAX_TREES, MAX_NAMES = 4, 20_000
_NO_MODE = b"000000"
_TREE_LINE = re.compile(rb"([0-7]{5,6}) ([^\0]+)\0(.{20})", re.DOTALL)


class LocalTree:
    """The tree of a commit. Its folders are read when they are needed."""

    def __init__(self, objects: CatFiles, directory: Path, commit: str) -> None:
        self._objects, self._directory = objects, directory
        self._folders: dict[str, dict[bytes, tuple[bytes, bytes]]] = {}
        self._root = f"{commit}^{{tree}}"
        self._folder(self._root)

    @property
    def names(self) -> int:
        """Return the number of names in the folders that were read."""
        return sum(map(len, self._folders.values()))

    def find(self, path: str) -> TreeEntry | None:
        """Return the entry of a path without its size. A folder has the type `tree`."""
        folder = self._root
        *above, name = path.encode().split(b"/")
        for part in above:
            mode, folder = self._read(folder, part)
            if entry_type(mode) != FOLDER:
                return None
        mode, sha = self._read(folder, name)
        return TreeEntry(path, entry_type(mode), mode, sha, None) if mode else None

    def list_folder(self, path: str) -> Iterator[TreeEntry]:
        """Yield the direct entries of a folder without sizes; nothing if the path is not a folder."""
        folder = self.find(path) if path else TreeEntry("", FOLDER, "040000", self._root, None)
        if folder is None or folder.type != FOLDER:
            return
        for name in self._folder(folder.sha):
            if (text := utf8(name)) is not None:
                mode, sha = self._read(folder.sha, name)
                yield TreeEntry(f"{path}/{text}" if path else text, entry_type(mode), mode, sha, None)

    def files(self, folder: TreeEntry) -> Iterator[str]:
        """Yield every file path below a folder. Names that are not valid UTF-8 contain surrogate escapes."""
        for name in self._folder(folder.sha):
            mode, sha = self._read(folder.sha, name)
            path = f"{folder.path}/{name.decode(errors='surrogateescape')}"
            entry = TreeEntry(path, entry_type(mode), mode, sha, None)
            if entry.type == FOLDER:
                yield from self.files(entry)
            else:
                yield entry.path

    def _read(self, folder: str, name: bytes) -> tuple[str, str]:
        """Return mode and sha of a name in a folder, or two empty strings if it does not exist."""
        mode, sha = self._folder(folder).get(name, (b"", b""))
        return mode.decode().zfill(6) if mode else "", sha.hex()

    def _folder(self, name: str) -> dict[bytes, tuple[bytes, bytes]]:
        if name not in self._folders:
            results, data = self._objects.one(self._directory, name)
            if results.type != FOLDER:
                raise GitObjectMissing("The commit does not exist in the repository")
            self._folders[name] = {part: (mode, sha) for mode, part, sha in _TREE_LINE.findall(data)}
        return self._folders[name]


class RecentTrees:
    """Trees that `entries` has read, for the commit that follows. A save then reads each folder of its head once.

    A tree never changes. Large trees are not kept.
    """

    def __init__(self) -> None:
        self._trees: OrderedDict[tuple[object, ...], LocalTree] = OrderedDict()

    def add(self, directory: Path, commit: str, tree: LocalTree) -> None:
        """Store a tree until `take` returns it, or until later ones replace it."""
        if tree.names <= MAX_NAMES:
            self._trees[_key(directory, commit)] = tree
            while len(self._trees) > MAX_TREES:
                self._trees.popitem(last=False)

    def take(self, directory: Path, commit: str) -> LocalTree | None:
        """Return the tree of a commit and forget it."""
        return self._trees.pop(_key(directory, commit), None)


def _key(directory: Path, commit: str) -> tuple[object, ...]:
    status = directory.stat()
    return directory, status.st_dev, status.st_ino, commit


def entry_type(mode: str) -> str:
    """Return the object type of a mode."""
    return {"040000": FOLDER, "160000": EntryType.COMMIT.value}.get(mode, EntryType.BLOB.value)


def utf8(name: bytes) -> str | None:
    """Decode a name. Return None if it is not valid UTF-8."""
    try:
        return name.decode()
    except UnicodeDecodeError:
        return None


def list_tree(directory: Path, commit: str, *, timeout_s: float) -> Iterator[TreeEntry]:
    """Yield every file of an existing commit with its size."""
    for record in fields(stream(directory, "ls-tree", "-r", "-l", "-z", "--full-tree", commit, timeout_s=timeout_s)):
        about, _, name = record.partition(b"\t")
        mode, kind, sha, size = about.decode().split()
        if (path := utf8(name)) is not None:
            yield TreeEntry(path, kind, mode, sha, int(size) if size.isdigit() else None)


def list_changes(directory: Path, old: str, new: str, *, timeout_s: float) -> Iterator[PathChange]:
    """Yield the changed paths of two existing commits, without sizes."""
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
    """Add the sizes of blobs that lack one, in chunks."""
    waiting = iter(changes)
    while chunk := list(islice(waiting, CHUNK)):
        shas = {entry.sha for _, entry in chunk if entry is not None and _lacks_size(entry)}
        results = {blob.sha: blob for blob in objects.check(directory, shas) if blob is not None} if shas else {}
        for path, entry in chunk:
            if entry is not None and _lacks_size(entry):
                entry = entry._replace(size=_size(results.get(entry.sha)))
            yield PathChange(path, entry)


def _lacks_size(entry: TreeEntry) -> bool:
    return entry.type == EntryType.BLOB and entry.size is None


def _size(blob: ObjectHeader | None) -> int | None:
    return blob.size if blob else None
