"""The state of all content indexes, for platform admins."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from app.core.cursors import decode_cursor, encode_cursor
from app.extensions import db
from app.models.organization import Organization
from app.models.project import Project
from app.models.project_content import ContentIndex, IndexStatus

CURSOR = "index"
UNHEALTHY = (IndexStatus.FAILED, IndexStatus.STALE)


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

    indexes: list[IndexState]
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
    rows: list[Any] = list(db.session.execute(statement.order_by(index.id).limit(limit + 1)))
    indexes = [IndexState(*row) for row in rows[:limit]]
    return IndexStatePage(indexes, encode_cursor(CURSOR, indexes[-1].index_id) if len(rows) > limit else None)


def count_indexes() -> dict[IndexStatus, int]:
    """Return the number of indexes by status."""
    rows = db.session.execute(sa.select(ContentIndex.status, sa.func.count()).group_by(ContentIndex.status))
    return dict.fromkeys(IndexStatus, 0) | {status: int(number) for status, number in rows}
