"""Read-only statements on indexed content: parts of a tree, one file, and the authors of commits."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from app.core.cursors import decode_cursor, paginate
from app.core.errors import NotFound
from app.extensions import db
from app.models.project import Project
from app.models.project_content import ContentFile, ContentIndex
from app.models.project_log import LogSource, ProjectLogEntry
from app.resources.project_content.tree import tree_rows, tree_snapshot


@dataclass(frozen=True)
class TreePage:
    """Some files of a tree with the metadata of the response."""

    result: dict[str, object]
    meta: dict[str, object] | None


def part(
    project: Project,
    index: ContentIndex | None,
    branch: str,
    *,
    folder: str | None,
    limit: int | None,
    cursor: str | None,
) -> TreePage:
    """Return the files below a folder, or a page of them."""
    after = decode_cursor(cursor, "path") if cursor else ""
    rows = _rows(index, folder, after, limit) if index is not None else []
    page, next_cursor = (rows, None) if limit is None else paginate(rows, limit, "path", lambda row: row.path)
    total = _count(index, folder) if index is not None else 0
    facts = tree_snapshot.facts(index, project.id, branch) | {"total": total}
    meta: dict[str, object] | None = None
    if limit is not None:
        meta = {"next_cursor": next_cursor, "total": total}
    return TreePage(facts | {"files": [tree_rows.entry(*row) for row in page]}, meta)


def _count(index: ContentIndex, folder: str | None) -> int:
    if folder is None:
        return index.files
    count = sa.select(sa.func.count()).select_from(ContentFile)
    return db.session.scalar(count.where(*_below(index, folder), ContentFile.type == "blob")) or 0


def _below(index: ContentIndex, folder: str | None) -> list[sa.ColumnElement[bool]]:
    file = ContentFile
    conditions = [file.index_id == index.id, file.generation == index.generation]
    if folder is None:
        return conditions
    # "0" follows "/" in ASCII, so this range contains all paths below the folder.
    return [*conditions, file.path > f"{folder}/", file.path < f"{folder}0"]


def _rows(
    index: ContentIndex, folder: str | None, after: str, limit: int | None
) -> list[sa.Row[str, str, str, str, int | None]]:
    file = ContentFile
    query = (
        sa.select(file.path, file.type, file.mode, file.sha, file.size)
        .where(*_below(index, folder), file.path > after)
        .order_by(file.path)
    )
    return list(db.session.execute(query.limit(limit + 1) if limit is not None else query))


def file(index: ContentIndex | None, path: str) -> ContentFile:
    """Return an indexed file. Raises NotFound."""
    row = None
    if index is not None:
        row = db.session.get(ContentFile, (index.id, index.generation, path))
    if row is None:
        raise NotFound("There is no such file on this branch")
    return row


def users_of_commits(project_id: str, shas: Sequence[str]) -> dict[str, str]:
    """Return the users who made commits through this service, by sha."""
    statement = (
        sa.select(ProjectLogEntry.commit_sha, ProjectLogEntry.user_id)
        .distinct()
        .where(
            ProjectLogEntry.project_id == project_id,
            ProjectLogEntry.commit_sha.in_(shas),
            ProjectLogEntry.source == LogSource.COMMIT,
            ProjectLogEntry.user_id.is_not(None),
        )
    )
    return {str(sha): str(user_id) for sha, user_id in db.session.execute(statement)}


def progress_of(project_id: str, branch: str) -> sa.Executable:
    """Return the statement that reads the state and the progress of an index."""
    index = ContentIndex
    columns = (index.status, index.commit_sha, index.progress, index.files, index.problem)
    return sa.select(*columns).where(index.project_id == project_id, index.branch == branch)
