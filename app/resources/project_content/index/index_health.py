"""The state of all content indexes, and the comparison of one with its branch, file by file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any

import sqlalchemy as sa

from app.core.cursors import decode_cursor, paginate
from app.database import transactions
from app.drivers.git.port import TreeEntry
from app.extensions import db
from app.models.organization import Organization
from app.models.project import Project
from app.models.project_content import ContentIndex, IndexStatus
from app.resources.project_content.source import Source
from app.resources.project_content.tree import tree_rows

CURSOR = "index"
UNHEALTHY = (IndexStatus.FAILED, IndexStatus.STALE)


def differences(index: ContentIndex, source: Source) -> Iterator[str]:
    """Yield each difference between the index and the head of the branch: commit, paths, modes, shas and sizes.

    The files of a stale index are compared as well. Both sides are sorted as in Git. The files of the branch are read
    first, without a database connection.
    """
    with transactions.outside_transaction():
        head = source.repository.head(source.branch)
        entries = list(source.repository.tree(head))
    if index.commit_sha != head:
        yield f"the index is at {index.commit_sha}, the branch {source.branch} at {head}"
    blobs = 0
    mine = ((row["path"].encode(), "mine", row) for row in tree_rows.rows(index))
    theirs = ((entry.path.encode(), "theirs", entry) for entry in entries)
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


@dataclass(frozen=True)
class IndexState:
    """The index of a branch with its project. `problem` is the reason of a failure."""

    index_id: str
    project_id: str
    project: str
    organization: str
    branch: str
    status: IndexStatus
    problem: str | None
    files: int
    indexed_at: datetime | None


@dataclass(frozen=True)
class IndexStatePage:
    """Indexes by id. `next_cursor` is None on the last page."""

    indexes: Sequence[IndexState]
    next_cursor: str | None


def list_indexes(
    statuses: Sequence[IndexStatus] = UNHEALTHY, *, limit: int, cursor: str | None = None
) -> IndexStatePage:
    """Return the indexes with one of the statuses.

    Raises:
        InvalidRequest: the cursor belongs to another list.
    """
    index = ContentIndex
    statement = (
        sa.select(
            *(index.id, Project.id, Project.name, Organization.name, index.branch, index.status, index.problem),
            *(index.files, index.indexed_at),
        )
        .join(Project, Project.id == index.project_id)
        .join(Organization, Organization.id == Project.organization_id)
        .where(index.status.in_(statuses))
    )
    if cursor:
        statement = statement.where(index.id > decode_cursor(cursor, CURSOR))
    indexes = [IndexState(*row) for row in db.session.execute(statement.order_by(index.id).limit(limit + 1))]
    return IndexStatePage(*paginate(indexes, limit, CURSOR, lambda state: state.index_id))


def count_indexes() -> dict[IndexStatus, int]:
    """Return the number of indexes by status."""
    rows = db.session.execute(sa.select(ContentIndex.status, sa.func.count()).group_by(ContentIndex.status))
    return dict.fromkeys(IndexStatus, 0) | {status: int(number) for status, number in rows}
