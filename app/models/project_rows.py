"""Projects, their organization and their index as rows of plain values, for requests that only read."""

from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from app.database.plain_rows import plain
from app.models.project import Project
from app.models.project_content import ContentIndex


class OrganizationRow(NamedTuple):
    """The columns of an organization that the guards of reads need."""

    id: str
    status: str


class IndexRow(NamedTuple):
    """The state of an index."""

    status: str
    commit_sha: str | None
    indexed_at: datetime | None
    files: int


PROJECT_COLUMNS = tuple(map(plain, Project.__table__.columns))
INDEX_COLUMNS = tuple(plain(getattr(ContentIndex, name), f"index_{name}") for name in IndexRow._fields)
OF_WORKING_BRANCH = sa.and_(ContentIndex.project_id == Project.id, ContentIndex.branch == Project.branch)


def index_of_row(row: Any) -> IndexRow | None:
    """Return the index of a row with `INDEX_COLUMNS`, or None without an index."""
    if row.index_status is None:
        return None
    return IndexRow(row.index_status, row.index_commit_sha, row.index_indexed_at, row.index_files)
