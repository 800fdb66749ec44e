"""Comparison of a content index with its branch, file by file."""

from collections.abc import Iterator
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any

from app.drivers.git.port import TreeEntry
from app.models.project_content import ContentIndex
from app.resources.project_content.source import Source
from app.resources.project_content.tree import tree_rows


def differences(index: ContentIndex, source: Source) -> Iterator[str]:
    """Yield each difference between the index and the head of the branch: commit, paths, modes, shas and sizes.

    The files of a stale index are compared as well. Both sides are sorted as in Git, so neither is stored in memory.
    """
    head = source.git.head(source.repo, source.branch)
    if index.commit_sha != head:
        yield f"the index is at {index.commit_sha}, the branch {source.branch} at {head}"
    blobs = 0
    mine = ((row["path"].encode(), "mine", row) for row in tree_rows.rows(index))
    theirs = ((entry.path.encode(), "theirs", entry) for entry in source.git.tree(source.repo, head))
    for path, sides in groupby(merge(mine, theirs, key=itemgetter(0, 1)), key=itemgetter(0)):
        by_side: dict[str, Any] = {side: value for _, side, value in sides}
        blobs += "theirs" in by_side and by_side["theirs"].type == "blob"
        yield from _compare(path.decode(), by_side.get("mine"), by_side.get("theirs"))
    if blobs != index.files:
        yield f"the index counts {index.files} files, the repository has {blobs}"


def _compare(path: str, mine: dict[str, object] | None, theirs: TreeEntry | None) -> Iterator[str]:
    if mine is None:
        yield f"missing from the index: {path}"
    elif theirs is None:
        yield f"not in the repository: {path}"
    else:
        yield from _fields(path, mine, theirs)


def _fields(path: str, mine: dict[str, object], theirs: TreeEntry) -> Iterator[str]:
    for name in ("type", "mode", "sha", "size"):
        expected = getattr(theirs, name)
        if mine[name] != expected and not (name == "size" and expected is None):
            yield f"{path}: {name} is {mine[name]} in the index, {expected} in the repository"
