"""Takes away what nothing leads to any more: files and trees of indexes that are gone, what was known of blobs likewise.

Rows of files have no foreign key: checking it would take longer than all the rest of indexing.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from app import transactions
from app.core import clock
from app.drivers.storage.near import NearStore
from app.extensions import db, jobs
from app.models import bulk
from app.models.content_search import ContentLink, ContentText
from app.models.project_content import ContentBlob, ContentFile, ContentIndex
from app.resources.project_content import describing, snapshot

AT_ONCE, ROWS_AT_ONCE = 500, 5_000


def ask() -> None:
    """Enqueue it: an index goes."""
    jobs.enqueue("content.sweep", unique="content.sweep")


def sweep() -> None:
    """Delete in short transactions; what is to go is looked up while nothing is locked."""
    transactions.start_reading()
    orphaned = ~sa.exists().where(ContentIndex.id == ContentFile.index_id)
    for index_id in db.session.scalars(sa.select(ContentFile.index_id).where(orphaned).distinct()).all():
        while delete_some(ContentFile.index_id == index_id):
            pass
    for project_id in db.session.scalars(sa.select(ContentText.project_id).distinct()).all():
        for table in (ContentText, ContentLink, ContentBlob):
            _sweep_blobs(table, project_id)


def ask_for_missing() -> None:
    """Ask for the stored trees and the texts that indexes lack: a job that dies too often is not run again by itself."""
    index = ContentIndex
    transactions.start_reading()
    for done, ask in (
        (index.snapshot_sha, lambda found: snapshot.ask(found.id)),
        (index.described_sha, describing.ask),
    ):
        lacking = sa.or_(done.is_(None), done != index.commit_sha)
        for index_id in db.session.scalars(sa.select(index.id).where(index.commit_sha.is_not(None), lacking)).all():
            with transactions.writing():
                found = db.session.get(index, index_id)
                if found is not None:
                    ask(found)


def sweep_trees(trees: NearStore, after: timedelta) -> None:
    """Delete stored trees, at least that old, that no index names.

    Raises:
        DriverError: the object store cannot be asked; the next time will do.
    """
    index, before = ContentIndex, clock.now() - after
    transactions.start_reading()
    for some in bulk.batches((o.key for o in trees.list(snapshot.PREFIX) if o.stored_at < before), AT_ONCE):
        named = set(db.session.scalars(sa.select(index.snapshot_key).where(index.snapshot_key.in_(some))))
        transactions.rest()
        for key in some:
            if key not in named:
                trees.delete(key)


def delete_some(*conditions: sa.ColumnElement[bool]) -> bool:
    """Delete some thousand rows of files in a transaction; False when there are none left."""
    file = ContentFile
    with transactions.writing():
        some = sa.select(file.index_id, file.generation, file.path).where(*conditions).limit(ROWS_AT_ONCE)
        gone = db.session.execute(
            sa.delete(file)
            .where(sa.tuple_(file.index_id, file.generation, file.path).in_(some))
            .execution_options(synchronize_session=False)
        )
    return bool(gone.rowcount == ROWS_AT_ONCE)  # type: ignore[attr-defined]


def _sweep_blobs(table: Any, project_id: str) -> None:
    doomed = list(db.session.scalars(_unused(table, project_id)))
    for start in range(0, len(doomed), AT_ONCE):
        some = doomed[start : start + AT_ONCE]
        with transactions.writing():
            wanted = (table.project_id == project_id, table.sha.in_(some))
            db.session.execute(sa.delete(table).where(*wanted).execution_options(synchronize_session=False))
            _read_again_where_used(project_id, some)


def _unused(table: Any, project_id: str) -> sa.Select[str]:
    """Shas that no file of the project has; none while an index of it is still to be made."""
    files = sa.select(ContentFile.sha).join(ContentIndex, ContentIndex.id == ContentFile.index_id)
    used = files.where(ContentIndex.project_id == project_id)
    unready = sa.exists().where(ContentIndex.project_id == project_id, ContentIndex.commit_sha.is_(None))
    return sa.select(table.sha).where(table.project_id == project_id, table.sha.not_in(used), ~unready).distinct()


def _read_again_where_used(project_id: str, shas: Sequence[str]) -> None:
    """A commit may have brought a blob back since it was looked for: its branches are read again."""
    index = ContentIndex
    files = sa.select(ContentFile.index_id).where(ContentFile.sha.in_(shas))
    for found in db.session.scalars(sa.select(index).where(index.project_id == project_id, index.id.in_(files))):
        found.described_sha = None
        describing.ask(found)
