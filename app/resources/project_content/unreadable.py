"""The files and folders of a branch that are missing or damaged in its repository.

A mark is a row of `ContentBlob`: all branches share it, and it is deleted with the last file that has the blob. A
folder is a row of the index with the type `tree`.
"""

from collections.abc import Iterable

import sqlalchemy as sa

from app.database import inserts, transactions
from app.database.inserts import insert_rows
from app.drivers.git.port import EntryType
from app.extensions import db
from app.models.project_content import ContentBlob, ContentFile, ContentIndex, IndexStatus

KIND, FOLDER = "unreadable", "tree"
MAX_SHOWN = 100
PROBLEM = "Some files of the repository are missing or damaged"
BATCH_SIZE = 500
_BLOBS: sa.Table = sa.inspect(ContentBlob).local_table  # type: ignore[assignment]


def mark(project_id: str, shas: Iterable[str]) -> None:
    """Mark blobs as unreadable, in short transactions. Idempotent."""
    for part in inserts.batches(shas, BATCH_SIZE):
        with transactions.write_transaction():
            rows = [{"project_id": project_id, "sha": sha, "kind": KIND, "facts": {}} for sha in part]
            insert_rows(db.session.connection(), _BLOBS, rows, unique=("project_id", "sha", "kind"))


def forget(project_id: str) -> None:
    """Delete the marks of a project in the running transaction, because its repository may have been repaired."""
    db.session.execute(sa.delete(ContentBlob).where(ContentBlob.project_id == project_id, ContentBlob.kind == KIND))


def paths(index: ContentIndex | None) -> list[str]:
    """Return the first paths of a branch that cannot be read. A folder ends with a slash."""
    return _paths(index) if index is not None and index.problem == PROBLEM else []


def update_problem(index_id: str) -> None:
    """Store in a complete index whether some of its files cannot be read."""
    index = db.session.get(ContentIndex, index_id, populate_existing=True)
    if index is None or (index.problem is None and not _has_marks(index.project_id)):
        return
    with transactions.locked_row(ContentIndex, index_id) as index:
        if index is not None and index.status == IndexStatus.READY:
            index.problem = PROBLEM if _paths(index) else None


def _has_marks(project_id: str) -> bool:
    marks = sa.select(ContentBlob.sha).where(ContentBlob.project_id == project_id, ContentBlob.kind == KIND)
    return db.session.scalar(marks.limit(1)) is not None


def _paths(index: ContentIndex) -> list[str]:
    file = ContentFile
    is_marked = sa.exists().where(
        ContentBlob.project_id == index.project_id, ContentBlob.sha == file.sha, ContentBlob.kind == KIND
    )
    statement = (
        sa.select(file.path, file.type)
        .where(file.index_id == index.id, file.generation == index.generation)
        .where(sa.or_(file.type == FOLDER, sa.and_(file.type == EntryType.BLOB, is_marked)))
        .order_by(file.path)
        .limit(MAX_SHOWN)
    )
    return [f"{path}/" if kind == FOLDER else path for path, kind in db.session.execute(statement)]
