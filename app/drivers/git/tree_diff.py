"""Differences of two trees by the shas of their objects."""

from collections.abc import Iterable, Iterator, Sequence

from app.drivers.git.port import PathChange, TreeEntry
from app.drivers.git.tree_views import FOLDER, ListFolders

_Pair = tuple[TreeEntry | None, TreeEntry | None]


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
