"""From the changes of a commit to what is removed from and written into a tree; refuses what does not fit it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.core.paths import path_fault
from app.drivers.errors import Rejected
from app.drivers.git.port import Action, EntryType, FileChange, PathConflict, TreeEntry
from app.drivers.git.views import FOLDER, TreeView

PLAIN, EXECUTABLE, SYMLINK = "100644", "100755", "120000"


@dataclass(frozen=True)
class Write:
    """A file to stand at `path`: new bytes, or the blob `sha` that is there already, of `size` where that is known."""

    path: str
    mode: str
    content: bytes | None
    sha: str | None = None
    size: int | None = None


@dataclass(frozen=True)
class Plan:
    """Paths that go, and files that come; a path may be in both."""

    removed: tuple[str, ...]
    written: tuple[Write, ...]


def make_plan(changes: Sequence[FileChange], tree: TreeView) -> Plan:
    """Check a commit's changes against the tree they are made on.

    Raises:
        Rejected: a path breaks the path rule, or a change lacks what its action needs.
        PathConflict: see there.
    """
    for change in changes:
        _check_form(change)
    removed = [change.path for change in changes if change.action is Action.DELETE]
    removed += [change.previous_path or "" for change in changes if change.action is Action.MOVE]
    targets = [change.path for change in changes if change.action is not Action.DELETE]
    faults = set(_faults(changes, removed, targets, tree))
    if faults:
        raise PathConflict("These changes do not fit the files of the branch", sorted(faults))
    return Plan(tuple(removed), tuple(_write(change, tree) for change in changes if change.action is not Action.DELETE))


def _check_form(change: FileChange) -> None:
    for path in (change.path, change.previous_path):
        if path is not None and (fault := path_fault(path)):
            raise Rejected(fault, code="INVALID_PATH")
    if (change.action is Action.MOVE) != (change.previous_path is not None):
        raise Rejected("A move, and nothing else, names the path it comes from", code="INVALID_CHANGE")
    if change.action in (Action.CREATE, Action.UPDATE) and change.content is None:
        raise Rejected("A file that is written must have content", code="INVALID_CHANGE")


def _faults(changes: Sequence[FileChange], removed: list[str], targets: list[str], tree: TreeView) -> Iterator[str]:
    gone, coming = set(removed), set(targets)
    yield from (path for paths in (removed, targets) for path, times in Counter(paths).items() if times > 1)
    yield from (path for path in coming if any(_is_file(above, tree, gone, coming) for above in _folders_of(path)))
    for change in changes:
        there = tree.find(change.path)
        if change.action is Action.DELETE:
            if there is None or there.type == FOLDER:
                yield change.path
        elif change.action is Action.UPDATE:
            if not _is_blob(there) or change.path in gone:
                yield change.path
        elif not _is_free(there, gone, tree):
            yield change.path
        if change.previous_path is not None and not _is_blob(tree.find(change.previous_path)):
            yield change.previous_path


def _is_blob(there: TreeEntry | None) -> bool:
    return there is not None and there.type == EntryType.BLOB


def _is_free(there: TreeEntry | None, gone: set[str], tree: TreeView) -> bool:
    """Whether a new file may stand here: nothing does, or all of it goes."""
    if there is None:
        return True
    if there.type == FOLDER:
        return all(path in gone for path in tree.files(there))
    return there.path in gone


def _is_file(path: str, tree: TreeView, gone: set[str], coming: set[str]) -> bool:
    there = tree.find(path)
    return path in coming or (there is not None and there.type != FOLDER and path not in gone)


def _folders_of(path: str) -> Iterable[str]:
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))


def _write(change: FileChange, tree: TreeView) -> Write:
    source = {Action.MOVE: change.previous_path, Action.UPDATE: change.path}.get(change.action)
    before = tree.find(source) if source else None
    if before is None:
        return Write(change.path, PLAIN, change.content)
    if change.content is not None:
        return Write(change.path, before.mode, change.content)
    return Write(change.path, before.mode, None, before.sha, before.size)
