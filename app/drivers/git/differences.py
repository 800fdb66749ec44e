"""What differs between two trees, by the names of their objects; makes no call itself."""

from collections.abc import Iterable, Iterator, Sequence

from app.drivers.git.port import PathChange, TreeEntry
from app.drivers.git.views import FOLDER, ListFolders

_Pair = tuple[TreeEntry | None, TreeEntry | None]


class Ends(Exception):
    """More folders differ than should be listed one by one."""


def compare_entries(old: Iterable[TreeEntry], new: Iterable[TreeEntry]) -> Iterator[PathChange]:
    """Every path that differs between two whole trees, by path."""
    before = {entry.path: entry for entry in old if entry.type != FOLDER}
    after = {entry.path: entry for entry in new if entry.type != FOLDER}
    for path in sorted({*before, *after}, key=str.encode):
        if _differ(before.get(path), after.get(path)):
            yield PathChange(path, after.get(path))


def compare_folders(old: str, new: str, list_folders: ListFolders, *, most: int) -> list[PathChange]:
    """The same for two commits, reading only folders that differ, level by level.

    Raises:
        Ends: more than `most` folders would have to be listed.
    """
    found: list[PathChange] = []
    left = most
    waiting: list[_Pair] = [(TreeEntry("", FOLDER, "040000", old, None), TreeEntry("", FOLDER, "040000", new, None))]
    while waiting:
        asked = [folder for pair in waiting for folder in pair if folder is not None]
        left -= len(asked)
        if left < 0:
            raise Ends
        listed = iter(list_folders(asked))
        sides = [tuple([] if side is None else next(listed) for side in pair) for pair in waiting]
        pairs = [pair for before, after in sides for pair in _pairs(before, after)]
        found += [change for pair in pairs if (change := _file_change(pair)) is not None]
        waiting = [folders for pair in pairs if (folders := _folders(pair)) != (None, None)]
    return sorted(found, key=lambda change: change.path.encode())


def _pairs(before: Sequence[TreeEntry], after: Sequence[TreeEntry]) -> Iterator[_Pair]:
    """What differs in one folder, name by name."""
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
