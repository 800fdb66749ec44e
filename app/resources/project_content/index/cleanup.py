"""Deletion of unreferenced content: files and trees of deleted indexes, and facts and texts of unused blobs.

Rows of files have no foreign key: its check would take longer than the indexing itself.
"""

from collections.abc import Sequence
from datetime import timedelta
from itertools import groupby
from typing import Any

import sqlalchemy as sa

from app.core import clock
from app.database import transactions
from app.drivers.storage.cached import CachedObjectStore
from app.extensions import db, jobs
from app.models.content_search import ContentField, ContentLink, ContentShape, ContentText
from app.models.project_content import ContentBlob, ContentFile, ContentIndex
from app.resources.project_content.index import search_indexing
from app.resources.project_content.tree import tree_snapshot

BATCH_SIZE, ROW_BATCH_SIZE = 500, 5_000


def enqueue(project_id: str, index_ids: Sequence[str]) -> None:
    """Enqueue the deletion of the content of deleted indexes of a project."""
    if index_ids:
        jobs.enqueue("content.delete_indexes", project_id=project_id, index_ids=list(index_ids))


def delete_indexes(project_id: str, index_ids: Sequence[str]) -> None:
    """Delete the files of deleted indexes, and what only they referenced, in short transactions."""
    for index_id in index_ids:
        delete_files(index_id)
    _delete_unreferenced_of_project(project_id)


def delete_unreferenced() -> None:
    """Delete unreferenced content in short transactions. The selection holds no lock."""
    orphaned = ~sa.exists().where(ContentIndex.id == ContentFile.index_id)
    for index_id in db.session.scalars(sa.select(ContentFile.index_id).where(orphaned).distinct()).all():
        delete_files(index_id)
    for project_id in db.session.scalars(sa.select(ContentText.project_id).distinct()).all():
        _delete_unreferenced_of_project(project_id)


def enqueue_missing() -> None:
    """Enqueue the storage of missing trees and texts. A job that failed permanently is not repeated otherwise."""
    index = ContentIndex
    for done, enqueue in (
        (index.snapshot_sha, lambda row: tree_snapshot.enqueue(row.id)),
        (index.described_sha, search_indexing.enqueue),
        (index.shaped_sha, search_indexing.enqueue),
        (index.listed_sha, search_indexing.enqueue),
    ):
        lacking = sa.or_(done.is_(None), done != index.commit_sha)
        for index_id in db.session.scalars(sa.select(index.id).where(index.commit_sha.is_not(None), lacking)).all():
            with transactions.write_transaction():
                row = db.session.get(index, index_id)
                if row is not None:
                    enqueue(row)


def delete_unreferenced_trees(trees: CachedObjectStore, after: timedelta) -> None:
    """Delete stored trees older than `after` that no index uses.

    Raises:
        DriverError: the object store is unavailable. The next run repeats the deletion.
    """
    before = clock.now() - after
    old = sorted(stored.key for stored in trees.list(tree_snapshot.PREFIX) if stored.stored_at < before)
    for project_id, keys in groupby(old, key=_project_of):
        present = sa.select(ContentIndex.snapshot_key).where(ContentIndex.project_id == project_id)
        named = {key for key in db.session.scalars(present) if key is not None}
        with transactions.outside_transaction():
            used = set().union(*(tree_snapshot.stored_objects(key, trees) for key in named))
            for key in keys:
                if key not in used:
                    trees.delete(key)


def _project_of(key: str) -> str:
    return key.removeprefix(tree_snapshot.PREFIX).partition("/")[0]


def delete_files(index_id: str, *, except_generation: int | None = None) -> None:
    """Delete the file rows of an index, or those of its other generations, in transactions of `ROW_BATCH_SIZE` rows."""
    generation = ContentFile.generation
    stored = sa.select(generation).where(ContentFile.index_id == index_id).distinct()
    for number in db.session.scalars(stored).all():
        while number != except_generation and _delete_batch(index_id, number):
            pass


def _delete_batch(index_id: str, generation: int) -> bool:
    """Delete the first file rows of a generation. Return whether there are more.

    A range of the primary key is fast without statistics of the table, which PostgreSQL updates a minute after an
    insertion.
    """
    rows = (ContentFile.index_id == index_id, ContentFile.generation == generation)
    with transactions.write_transaction():
        end = db.session.scalar(
            sa.select(ContentFile.path).where(*rows).order_by(ContentFile.path).offset(ROW_BATCH_SIZE).limit(1)
        )
        batch = rows if end is None else (*rows, ContentFile.path < end)
        db.session.execute(sa.delete(ContentFile).where(*batch).execution_options(synchronize_session=False))
    return end is not None


def _delete_unreferenced_of_project(project_id: str) -> None:
    for table in (ContentText, ContentLink, ContentBlob, ContentShape):
        _delete_unused_blobs(table, project_id)
    _delete_unused_fields(project_id)


def _delete_unused_blobs(table: Any, project_id: str) -> None:
    unused = list(db.session.scalars(_unused(table, project_id)))
    for start in range(0, len(unused), BATCH_SIZE):
        some = unused[start : start + BATCH_SIZE]
        with transactions.write_transaction():
            conditions = (table.project_id == project_id, table.sha.in_(some))
            db.session.execute(sa.delete(table).where(*conditions).execution_options(synchronize_session=False))
            _reindex_used(project_id, some)


def _delete_unused_fields(project_id: str) -> None:
    """Delete the fields of deleted texts, name by name, because the primary key is ordered by name."""
    field, text = ContentField, ContentText
    is_deleted = ~sa.exists().where(text.project_id == project_id, text.sha == field.sha)
    names = sa.select(field.name).where(field.project_id == project_id, is_deleted).distinct()
    for name in db.session.scalars(names).all():
        with transactions.write_transaction():
            conditions = (field.project_id == project_id, field.name == name, is_deleted)
            db.session.execute(sa.delete(field).where(*conditions).execution_options(synchronize_session=False))


def _unused(table: Any, project_id: str) -> sa.CompoundSelect[str]:
    """Select shas that no file of the project has. Selects none while an index of the project is incomplete.

    Both databases execute EXCEPT in one pass. PostgreSQL compares each sha with all files for a NOT IN that does not
    fit into `work_mem`, SQLite for a NOT EXISTS, because the index on `sha` begins with the index and the generation.
    """
    files = sa.select(ContentFile.sha).join(ContentIndex, ContentIndex.id == ContentFile.index_id)
    unready = sa.exists().where(ContentIndex.project_id == project_id, ContentIndex.commit_sha.is_(None))
    stored = sa.select(table.sha).where(table.project_id == project_id, ~unready)
    return stored.except_(files.where(ContentIndex.project_id == project_id))


def _reindex_used(project_id: str, shas: Sequence[str]) -> None:
    """Enqueue the indexing of branches that a commit has given one of the deleted blobs since the selection.

    A generation that a job inserts at the moment may contain one of them as well.
    """
    index, file = ContentIndex, ContentFile
    is_used = sa.exists().where(file.index_id == index.id, file.generation == index.generation, file.sha.in_(shas))
    is_growing = sa.exists().where(file.index_id == index.id, file.generation > index.generation)
    for row in db.session.scalars(sa.select(index).where(index.project_id == project_id, sa.or_(is_used, is_growing))):
        row.described_sha = row.shaped_sha = None
        search_indexing.enqueue(row)
