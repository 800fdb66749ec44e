"""Views of the tree of a commit of a remote host, loaded completely or by folder, and differences of two trees."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Protocol

from app.drivers.git.port import PathChange, TreeEntry

FOLDER = "tree"

ListFolders = Callable[[Sequence[TreeEntry]], Sequence[Sequence[TreeEntry]]]
"""Function that returns the direct entries of several folders, including folders, in one step."""
_Pair = tuple[TreeEntry | None, TreeEntry | None]


class TreeView(Protocol):
    """The tree against which the changes of a commit are checked."""

    def find(self, path: str) -> TreeEntry | None:
        """Return the entry of a path. A folder has the type `tree`."""

    def files(self, folder: TreeEntry) -> Iterable[str]:
        """Yield every file path below a folder."""

    def paths_in(self, folder: str) -> Iterable[str]:
        """Yield the paths of what a folder contains directly. An empty path is the root."""


class FullTree:
    """A completely loaded tree."""

    def __init__(self, entries: Iterable[TreeEntry]) -> None:
        self._entries = {entry.path: entry for entry in entries}

    def find(self, path: str) -> TreeEntry | None:
        return self._entries.get(path)

    def files(self, folder: TreeEntry) -> Iterator[str]:
        start = f"{folder.path}/"
        return (path for path, entry in self._entries.items() if path.startswith(start) and entry.type != FOLDER)

    def paths_in(self, folder: str) -> Sequence[str]:
        return self._by_folder.get(folder, ())

    @cached_property
    def _by_folder(self) -> dict[str, list[str]]:
        paths = dict[str, list[str]]()
        for path in self._entries:
            paths.setdefault(path.rpartition("/")[0], []).append(path)
        return paths


class LazyTree:
    """A tree whose folders are listed when they are needed."""

    def __init__(self, root: str, list_folders: ListFolders) -> None:
        self._list_folders = list_folders
        self._root = TreeEntry("", FOLDER, "040000", root, None)
        self._folders: dict[str, dict[str, TreeEntry]] = {}

    def load(self, paths: Iterable[str]) -> None:
        """List the folders above these paths, level by level."""
        folders = folders_of(paths)
        waiting = [self._root]
        while waiting:
            self._list(waiting)
            depth = {folder.path for folder in waiting}
            waiting = [
                entry
                for above in depth
                for entry in self._folders[above].values()
                if entry.type == FOLDER and entry.path in folders
            ]

    def find(self, path: str) -> TreeEntry | None:
        folder: TreeEntry | None = self._root
        for above in [*_above(path), path]:
            if folder is None or folder.type != FOLDER:
                return None
            folder = self._in(folder).get(above)
        return folder

    def files(self, folder: TreeEntry) -> Iterator[str]:
        for entry in self._in(folder).values():
            if entry.type == FOLDER:
                yield from self.files(entry)
            else:
                yield entry.path

    def paths_in(self, folder: str) -> Iterable[str]:
        entry = self.find(folder) if folder else self._root
        return self._in(entry) if entry is not None and entry.type == FOLDER else ()

    def _in(self, folder: TreeEntry) -> dict[str, TreeEntry]:
        if folder.path not in self._folders:
            self._list([folder])
        return self._folders[folder.path]

    def _list(self, folders: Sequence[TreeEntry]) -> None:
        new = [folder for folder in folders if folder.path not in self._folders]
        for folder, entries in zip(new, self._list_folders(new), strict=True):
            self._folders[folder.path] = {entry.path: entry for entry in entries}


def folders_of(paths: Iterable[str]) -> set[str]:
    """Return every folder above these paths except the root."""
    return {above for path in paths for above in _above(path)}


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


class TooManyFolders(Exception):
    """A comparison with more different folders than the limit."""


def compare_entries(old: Iterable[TreeEntry], new: Iterable[TreeEntry]) -> Iterator[PathChange]:
    """Yield every path that differs between two complete trees, sorted by path."""
    before = {entry.path: entry for entry in old if entry.type != FOLDER}
    after = {entry.path: entry for entry in new if entry.type != FOLDER}
    for path in sorted({*before, *after}, key=str.encode):
        if _differ(before.get(path), after.get(path)):
            yield PathChange(path, after.get(path))


def compare_folders(old: str, new: str, list_folders: ListFolders, *, max_folders: int) -> list[PathChange]:
    """Return the same for two commits. Read only different folders, level by level.

    Raises:
        TooManyFolders: more than `max_folders` folders differ.
    """
    changes: list[PathChange] = []
    remaining = max_folders
    waiting: list[_Pair] = [(TreeEntry("", FOLDER, "040000", old, None), TreeEntry("", FOLDER, "040000", new, None))]
    while waiting:
        different = [folder for pair in waiting for folder in pair if folder is not None]
        remaining -= len(different)
        if remaining < 0:
            raise TooManyFolders
        listed = iter(list_folders(different))
        sides = [tuple([] if side is None else next(listed) for side in pair) for pair in waiting]
        pairs = [pair for before, after in sides for pair in _pairs(before, after)]
        changes += [change for pair in pairs if (change := _file_change(pair)) is not None]
        waiting = [folders for pair in pairs if (folders := _folders(pair)) != (None, None)]
    return sorted(changes, key=lambda change: change.path.encode())


def _pairs(before: Sequence[TreeEntry], after: Sequence[TreeEntry]) -> Iterator[_Pair]:
    """Yield the different entries of one folder."""
    old, new = ({entry.path: entry for entry in side} for side in (before, after))
    for path in {**old, **new}:
        pair = old.get(path), new.get(path)
        if _differ(*pair):
            yield pair


def _differ(old: TreeEntry | None, new: TreeEntry | None) -> bool:
    return (old and (old.type, old.mode, old.sha)) != (new and (new.type, new.mode, new.sha))


def _file_change(pair: _Pair) -> PathChange | None:
    old, new = (None if side is None or side.type == FOLDER else side for side in pair)
    either = new or old
    return PathChange(either.path, new) if either else None


def _folders(pair: _Pair) -> _Pair:
    old, new = (side if side is not None and side.type == FOLDER else None for side in pair)
    return old, new
