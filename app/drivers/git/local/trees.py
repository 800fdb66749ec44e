"""The trees of commits, read from tree objects, `ls-tree` and `diff-tree`.

The service does not support paths that are not valid UTF-8 (limits, section 1), so they are skipped.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from app.drivers.git.errors import GitObjectMissing, RepositoryDamaged
from app.drivers.git.local.commands import fields, stream
from app.drivers.git.local.processes import CatFiles
from app.drivers.git.port import EntryType, PathChange, TreeEntry
from app.drivers.http.client import LIMITS

FOLDER = "tree"
CHUNK = 512
MAX_TREES, MAX_NAMES = 4, 20_000
Entries = dict[bytes, tuple[bytes, bytes]]
"""The entries of a folder: name → mode as stored, and the bytes of the sha."""
FOLDER_MODES = (b"40000", b"040000")
_TYPES = {"040000": FOLDER, "160000": EntryType.COMMIT.value}
_BLOB = EntryType.BLOB.value
_NOTHING = (b"", b"")
_NO_MODE = b"000000"
# A space, a zero byte and the sha.
_BYTES_PER_ENTRY = 22
_TREE_LINE = re.compile(rb"([0-7]{5,6}) ([^\0]+)\0(.{20})", re.DOTALL)


class LocalTree:
    """The tree of a commit. Its folders are read when they are needed."""

    def __init__(self, objects: CatFiles, directory: Path, commit: str) -> None:
        self._objects, self._directory = objects, directory
        self._root = f"{commit}^{{tree}}"
        self._folders: dict[str, Entries] = {}
        self._by_path: dict[str, Entries | None] = {"": self.folder(self._root)}

    @property
    def names(self) -> int:
        """Return the number of names in the folders that were read."""
        return sum(map(len, self._folders.values()))

    def find(self, path: str) -> TreeEntry | None:
        """Return the entry of a path without its size. A folder has the type `tree`."""
        above, _, name = path.rpartition("/")
        mode, sha = (self._folder_at(above) or {}).get(name.encode(), _NOTHING)
        return _entry(path, mode, sha) if mode else None

    def root(self) -> Entries:
        return self.folder(self._root)

    def folder(self, sha: str) -> Entries:
        """Return the entries of a folder. Raises GitObjectMissing for the root, else RepositoryDamaged."""
        if sha not in self._folders:
            try:
                header, data = self._objects.one(self._directory, sha, max_bytes=LIMITS.tree_bytes)
            except GitObjectMissing as error:
                if sha == self._root:
                    raise
                raise RepositoryDamaged("A folder of the repository is missing or damaged") from error
            if header.type != FOLDER:
                raise GitObjectMissing("The commit does not exist in the repository")
            self._folders[sha] = _parse(data)
        return self._folders[sha]

    def list_folder(self, path: str) -> Iterator[TreeEntry]:
        """Yield the direct entries of a folder without sizes; nothing if the path is not a folder."""
        for name, (mode, sha) in (self._folder_at(path) or {}).items():
            if (text := utf8(name)) is not None:
                yield _entry(f"{path}/{text}" if path else text, mode, sha)

    def paths_in(self, folder: str) -> Iterator[str]:
        start = f"{folder}/" if folder else ""
        return (f"{start}{name.decode(errors='surrogateescape')}" for name in self._folder_at(folder) or ())

    def files(self, folder: TreeEntry) -> Iterator[str]:
        """Yield every file path below a folder. Names that are not valid UTF-8 contain surrogate escapes."""
        for name, (mode, sha) in self.folder(folder.sha).items():
            entry = _entry(f"{folder.path}/{name.decode(errors='surrogateescape')}", mode, sha)
            if entry.type == FOLDER:
                yield from self.files(entry)
            else:
                yield entry.path

    def _folder_at(self, path: str) -> Entries | None:
        """Return the entries of the folder at a path, or None if there is none."""
        if path not in self._by_path:
            parts = path.split("/")
            for count, name in enumerate(parts):
                above, location = "/".join(parts[:count]), "/".join(parts[: count + 1])
                if location not in self._by_path:
                    mode, sha = (self._by_path[above] or {}).get(name.encode(), _NOTHING)
                    self._by_path[location] = self.folder(sha.hex()) if mode in FOLDER_MODES else None
        return self._by_path[path]


def _parse(data: bytes) -> Entries:
    """Return the entries of a tree object. Raises RepositoryDamaged if it contains other bytes."""
    entries = {name: (mode, sha) for mode, name, sha in _TREE_LINE.findall(data)}
    if sum(len(mode) + len(name) for name, (mode, _) in entries.items()) + _BYTES_PER_ENTRY * len(entries) != len(data):
        raise RepositoryDamaged("A folder of the repository is damaged")
    return entries


def _entry(path: str, mode: bytes, sha: bytes) -> TreeEntry:
    text = mode.decode().zfill(6)
    return TreeEntry(path, entry_type(text), text, sha.hex(), None)


class RecentTrees:
    """Cache of the trees that `entries` has read.

    The next commit uses them, so a save reads each folder of its head once. A tree never changes. Large trees are not
    cached.
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
        """Remove the tree of a commit from the cache and return it."""
        return self._trees.pop(_key(directory, commit), None)


def _key(directory: Path, commit: str) -> tuple[object, ...]:
    status = directory.stat()
    return directory, status.st_dev, status.st_ino, commit


def entry_type(mode: str) -> str:
    """Return the object type of a mode."""
    return _TYPES.get(mode, _BLOB)


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


def list_readable(objects: CatFiles, directory: Path, tree: LocalTree) -> Iterator[TreeEntry]:
    """Yield every file of a tree, with the size of those that exist.

    A folder that cannot be read has the type `tree`.
    """

    def walk(folder: str, entries: Entries) -> Iterator[PathChange]:
        for name, (mode, sha) in entries.items():
            if (text := utf8(name)) is None:
                continue
            entry = _entry(f"{folder}{text}", mode, sha)
            try:
                below = tree.folder(entry.sha) if entry.type == FOLDER else None
            except GitObjectMissing:
                below = None
            if below is None:
                yield PathChange(entry.path, entry)
            else:
                yield from walk(f"{entry.path}/", below)

    for _, entry in sized(objects, directory, walk("", tree.root())):
        if entry is not None:
            yield entry


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
        sizes = {blob.sha: blob.size for blob in objects.check(directory, shas) if blob is not None} if shas else {}
        for path, entry in chunk:
            if entry is not None and _lacks_size(entry):
                entry = entry._replace(size=sizes.get(entry.sha))
            yield PathChange(path, entry)


def _lacks_size(entry: TreeEntry) -> bool:
    return entry.type == EntryType.BLOB and entry.size is None
