"""Renames of files between two commits, and within the edits of a save, as Git detects them by their content."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import PurePosixPath

from app.concurrency.threadpool import offload
from app.core.limits import KIB
from app.drivers.git.commit_plan import SYMLINK
from app.drivers.git.errors import GitObjectMissing, TooLargeToRead
from app.drivers.git.object_ids import blob_sha
from app.drivers.git.port import Action, EntryType, FileChange, TreeEntry
from app.resources.project_content.save_request import FileEdit
from app.resources.project_content.source import Source, is_readable

MIN_SIMILARITY = 0.5
"""The default of Git."""

MAX_READ, MAX_BYTES = 20, 128 * KIB
"""Files of each side that are compared by their contents. Longer ones are found only without a change."""

MAX_COMPARED_LINES = 400_000
"""The lines of all pairs that are compared. Pairs of nearly equal sizes are the first ones."""

MAX_CHANGES, MAX_CANDIDATES = 20_000, 1_000
"""The changes of a branch that are searched for renames, and those of them that are looked up in the base."""

Read = Callable[[str], bytes | None]
"""A function that returns the content of a blob, or None if it is too long."""

_LINE = re.compile(rb"[^\n]{0,63}\n|[^\n]{1,64}")


def follow_renames(
    source: Source,
    commits: tuple[str | None, str],
    edits: Sequence[FileEdit],
    changed: Mapping[str, str],
    present: Mapping[str, TreeEntry],
) -> tuple[list[FileEdit | None], dict[str, str]]:
    """Return edits of the paths that their files have at a head, and the renames between its base and the head.

    `changed` contains the blobs of the base that the head does not have at their paths, `present` its entries. The
    removal and the addition of one of these files are a move. Its removal is None. Calls the Git host.
    """
    base, head = commits
    missing = {path: sha for path, sha in changed.items() if path not in present}

    def read(sha: str) -> bytes | None:
        try:
            return source.repository.blob(sha, max_bytes=MAX_BYTES)
        except (TooLargeToRead, GitObjectMissing):
            return None

    has_base = missing and base is not None and is_readable(source, base)
    renames = _find_renames(source, (str(base), head), missing, read) if has_base else {}
    joined = _join_moves(edits, changed, present.keys() - renames.values(), read)
    created = {edit.change.path for edit in joined if edit is not None and edit.change.action == Action.CREATE}
    renames = {path: target for path, target in renames.items() if target not in created}
    return [_follow(edit, renames, changed) if edit is not None else None for edit in joined], renames


def _find_renames(source: Source, commits: tuple[str, str], files: Mapping[str, str], read: Read) -> dict[str, str]:
    """Return the new paths of files of the first commit, given with their blobs, that the second one does not have."""
    changed = [
        (change.path, change.entry.sha)
        for change in islice(source.repository.changes(*commits), MAX_CHANGES)
        if change.entry is not None and change.entry.type == EntryType.BLOB and change.entry.mode != SYMLINK
    ]
    blobs, endings = set(files.values()), {PurePosixPath(path).suffix for path in files}
    changed.sort(key=lambda change: (change[1] not in blobs, PurePosixPath(change[0]).suffix not in endings))
    candidates = dict(changed[:MAX_CANDIDATES])
    known = source.repository.entries(commits[0], sorted(candidates))
    return _match_files(files, {path: sha for path, sha in candidates.items() if path not in known}, read)


def _match_files(old: Mapping[str, str], new: Mapping[str, str], read: Read) -> dict[str, str]:
    """Return the new path of each old one that has an equal or similar file, given the blobs by path."""
    by_blob = {sha: path for path, sha in reversed(list(new.items()))}
    renames = dict[str, str]()
    for path, sha in old.items():
        if (target := by_blob.get(sha)) is not None and target not in renames.values():
            renames[path] = target
    old = dict(islice(((path, sha) for path, sha in old.items() if path not in renames), MAX_READ))
    new = dict(islice(((path, sha) for path, sha in new.items() if path not in renames.values()), MAX_READ))
    if not old or not new:
        return renames
    texts = [
        {path: text for path, sha in side.items() if (text := read(sha)) and len(text) <= MAX_BYTES}
        for side in (old, new)
    ]
    return renames | offload(similar_files, *texts)


def similar_files(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> dict[str, str]:
    """Return the pairs of the most similar files. Each file is in one pair."""
    own, other = (
        {path: Counter(_LINE.findall(data.replace(b"\r\n", b"\n"))) for path, data in side.items()}
        for side in (old, new)
    )
    pairs = [(abs(len(old[path]) - len(new[target])), path, target) for path in old for target in new]
    shares, remaining = list[tuple[float, str, str]](), MAX_COMPARED_LINES
    for _, path, target in sorted(pairs):
        remaining -= len(own[path]) + len(other[target])
        if remaining >= 0:
            shares.append((-similarity(own[path], other[target]), path, target))
    renames = dict[str, str]()
    for share, path, target in sorted(shares):
        if -share >= MIN_SIMILARITY and path not in renames and target not in renames.values():
            renames[path] = target
    return renames


def similarity(first: Counter[bytes], other: Counter[bytes]) -> float:
    """Return the share of the longer text whose lines both have, in any order."""
    shared, *sizes = (sum(len(line) * count for line, count in side.items()) for side in (first & other, first, other))
    return shared / max(*sizes, 1)


def _join_moves(
    edits: Sequence[FileEdit], changed: Mapping[str, str], taken: Collection[str], read: Read
) -> list[FileEdit | None]:
    """Return edits in which the removal and the addition of one file are a move. The removal is None.

    `changed` are the bases of the files that the branch changed, `taken` are paths that it has.
    """
    removed = {edit.change.path for edit in edits if edit.change.action == Action.DELETE}
    old = {path: sha for path, sha in changed.items() if path in removed}
    added = [edit.change for edit in edits if edit.change.action == Action.CREATE and edit.change.path not in taken]
    new = {change.path: _added_blob(change) for change in added} if old else {}
    contents = {new[change.path]: change.content for change in added if change.content is not None} if old else {}
    moves = _match_files(old, new, lambda sha: contents[sha] if sha in contents else read(sha))
    origins = {target: path for path, target in moves.items()}
    result = list[FileEdit | None]()
    for edit in edits:
        change, origin = edit.change, origins.get(edit.change.path)
        if origin is not None:
            move = FileChange(change.path, Action.MOVE, change.content, origin, change.is_executable, change.blob)
            result.append(FileEdit(move, changed[origin]))
        else:
            result.append(None if change.path in moves and change.action == Action.DELETE else edit)
    return result


def _added_blob(change: FileChange) -> str:
    return change.blob.sha if change.blob is not None else blob_sha(change.content or b"")


def _follow(edit: FileEdit, renames: Mapping[str, str], bases: Mapping[str, str]) -> FileEdit | None:
    """Return the edit of a file for the path to which the branch renamed it, or None if it has no effect there."""
    change = edit.change
    origin = change.previous_path or change.path
    target = renames.get(origin)
    if target is None or change.action == Action.CREATE:
        return edit
    if change.action != Action.MOVE:
        return FileEdit(replace(change, path=target), bases[origin])
    if change.path != target:
        return FileEdit(replace(change, previous_path=target), bases[origin])
    if change.content is None:
        return None
    return FileEdit(replace(change, action=Action.UPDATE, previous_path=None), bases[origin])
