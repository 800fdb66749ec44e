"""The plan of a commit: the paths that are removed from a tree and the files that are written to it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.core.errors import ErrorMessage
from app.core.paths import folded, path_error
from app.drivers.errors import UpstreamRejected
from app.drivers.git.errors import PathConflict
from app.drivers.git.port import Action, EntryType, FileChange, TreeEntry
from app.drivers.git.tree_views import FOLDER, TreeView

PLAIN, EXECUTABLE, SYMLINK = "100644", "100755", "120000"


@dataclass(frozen=True)
class FileWrite:
    """A file to write at `path`: new bytes, or the existing blob `sha` with its `size` if known."""

    path: str
    mode: str
    content: bytes | None
    sha: str | None = None
    size: int | None = None


@dataclass(frozen=True)
class CommitPlan:
    """The removed paths and the written files. A path may be in both."""

    removed: tuple[str, ...]
    written: tuple[FileWrite, ...]


def make_plan(changes: Sequence[FileChange], tree: TreeView) -> CommitPlan:
    """Check the changes of a commit against the tree on which they are made.

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
        raise PathConflict("The changes do not fit the files of the branch", sorted(faults))
    for path, other in _collisions(changes, set(removed), tree):
        raise PathConflict(
            ErrorMessage(
                "“%(name)s” exists. A name cannot differ from it in case or in the encoding of accents only", name=other
            ),
            [path],
        )
    return CommitPlan(
        tuple(removed), tuple(_write(change, tree) for change in changes if change.action is not Action.DELETE)
    )


def is_executable(entry: TreeEntry) -> bool | None:
    """Return whether a file is executable, or None for a symbolic link."""
    return None if entry.mode == SYMLINK else entry.mode == EXECUTABLE


def is_plain_file(entry: TreeEntry) -> bool:
    """Return whether an entry is a file, and no symbolic link, folder or submodule."""
    return entry.type == EntryType.BLOB and entry.mode != SYMLINK


def _check_form(change: FileChange) -> None:
    for path in (change.path, change.previous_path):
        if path is not None and (fault := path_error(path)):
            raise UpstreamRejected(fault, code="INVALID_PATH")
    if (change.action is Action.MOVE) != (change.previous_path is not None):
        raise UpstreamRejected("Only a move must have a previous path", code="INVALID_CHANGE")
    if change.action in (Action.CREATE, Action.UPDATE) and change.content is None and change.blob is None:
        raise UpstreamRejected("A created or updated file must have content", code="INVALID_CHANGE")


def _faults(changes: Sequence[FileChange], removed: list[str], targets: list[str], tree: TreeView) -> Iterator[str]:
    removed_paths, target_paths = set(removed), set(targets)
    yield from (path for paths in (removed, targets) for path, times in Counter(paths).items() if times > 1)
    above = {folder for path in target_paths for folder in _folders_of(path)}
    files = {folder for folder in above if _is_file(folder, tree, removed_paths, target_paths)}
    yield from (path for path in target_paths if files and not files.isdisjoint(_folders_of(path)))
    for change in changes:
        there = tree.find(change.path)
        if change.action is Action.DELETE:
            if there is None or there.type == FOLDER:
                yield change.path
        elif change.action is Action.UPDATE:
            if not _is_blob(there) or change.path in removed_paths:
                yield change.path
        elif not _is_free(there, removed_paths, tree):
            yield change.path
        if change.previous_path is not None and not _is_blob(tree.find(change.previous_path)):
            yield change.previous_path


def _collisions(changes: Sequence[FileChange], removed: set[str], tree: TreeView) -> Iterator[tuple[str, str]]:
    """Yield new paths that Windows and macOS cannot distinguish from another one."""
    new = [change.path for change in changes if change.action in (Action.CREATE, Action.MOVE)]
    known, names = dict[str, str](), dict[str, dict[str, str]]()
    for path in new:
        levels = (*_folders_of(path), path)
        yield from ((path, own) for level in levels if (own := known.setdefault(folded(level), level)) != level)
        missing = next((level for level in levels if tree.find(level) is None), None)
        if missing is None:
            continue
        folder = missing.rpartition("/")[0]
        if folder not in names:
            names[folder] = {folded(name): name for name in tree.paths_in(folder)}
        other = names[folder].get(folded(missing))
        if other is not None and not _is_free(tree.find(other), removed, tree):
            yield path, other


def _is_blob(there: TreeEntry | None) -> bool:
    return there is not None and there.type == EntryType.BLOB


def _is_free(there: TreeEntry | None, removed_paths: set[str], tree: TreeView) -> bool:
    """Return whether a path is free for a new file, also because a change removes all that is there."""
    if there is None:
        return True
    if there.type == FOLDER:
        return all(path in removed_paths for path in tree.files(there))
    return there.path in removed_paths


def _is_file(path: str, tree: TreeView, removed_paths: set[str], target_paths: set[str]) -> bool:
    there = tree.find(path)
    return path in target_paths or (there is not None and there.type != FOLDER and path not in removed_paths)


def _folders_of(path: str) -> Iterable[str]:
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))


def _write(change: FileChange, tree: TreeView) -> FileWrite:
    source = {Action.MOVE: change.previous_path, Action.UPDATE: change.path}.get(change.action)
    before = tree.find(source) if source else None
    mode = _mode(change, before)
    blob = change.blob or before
    if change.content is not None or blob is None:
        return FileWrite(change.path, mode, change.content)
    return FileWrite(change.path, mode, None, blob.sha, blob.size)


def _mode(change: FileChange, before: TreeEntry | None) -> str:
    if change.is_executable is None:
        return before.mode if before is not None else PLAIN
    return EXECUTABLE if change.is_executable else PLAIN
