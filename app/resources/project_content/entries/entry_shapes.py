"""Sets of fields of entries. Many entries have the same set, so the entries without a field are found by few sets."""

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, cast

import sqlalchemy as sa

from app.database import inserts, transactions
from app.extensions import db
from app.models.content_search import ContentField, ContentShape
from app.models.project_content import ContentFile, ContentIndex
from app.resources.project_content.conditions import literal_number
from app.resources.project_content.entries.entry_conditions import PROJECT, exists, first_value, is_entry
from app.resources.project_content.statistics import GrowthStatistics

MAX_SHAPES = 300
"""A project with more sets of fields is walked instead."""

PAGE, SHAS, DIGITS = 2_000, 500, 16
COLUMNS = ("project_id", "sha", "shape")


def shapes_without(index: ContentIndex, name: str) -> list[str] | None:
    """Return the sets of fields without a field, or None if not all sets are stored or there are too many."""
    if index.shaped_sha != index.commit_sha:
        return None
    rows = db.session.execute(_sets(), {"project": index.project_id, "name": name}).all()
    return [shape for shape, has_field in rows if not has_field] if len(rows) <= MAX_SHAPES else None


def store_shapes(index: ContentIndex, changed: Sequence[str] | None, *, commit_sha: str, since: str | None) -> None:
    """Store the sets of fields of the entries at the paths that changed between two commits, or of all entries.

    Their values are stored already. If the cleanup resets `shaped_sha` in the meantime, it keeps that value.
    """
    index_id, project_id = index.id, index.project_id
    statistics = GrowthStatistics({ContentShape: COLUMNS})
    for shas in _entries(index) if changed is None else _entries_at(index, changed):
        _store(project_id, shas)
        if changed is None:
            statistics.add(len(shas))
    with transactions.write_transaction():
        is_unchanged = ContentIndex.shaped_sha.is_not_distinct_from(since)
        statement = sa.update(ContentIndex).where(ContentIndex.id == index_id, is_unchanged)
        db.session.execute(statement.values(shaped_sha=commit_sha))


@lru_cache(1)
def _sets() -> sa.Select[Any]:
    """Return the statement that lists the sets of fields of a project, and whether each contains the field `name`.

    It jumps from the first blob of one set to the first blob of the next set in the index, and reads its fields.
    """
    shape, sha, own = ContentShape.shape, ContentShape.sha, ContentShape.project_id == PROJECT
    pair = sa.select(shape + sha).where(own).order_by(shape, sha).limit(literal_number(1))
    sets = sa.select(pair.scalar_subquery().label("pair"), literal_number(0).label("number")).cte(
        "sets", recursive=True
    )
    last, count = sets.c.pair, sets.c.number
    following = pair.where(shape > sa.func.substr(last, 1, DIGITS)).correlate(sets).scalar_subquery()
    sets = sets.union_all(sa.select(following, count + 1).where(last.is_not(None), count < MAX_SHAPES))
    blob = sa.func.substr(sets.c.pair, DIGITS + 1)
    has_field = exists(*first_value(sa.bindparam("name")), ContentField.sha == blob, within=sets)
    return sa.select(sa.func.substr(sets.c.pair, 1, DIGITS), has_field).where(sets.c.pair.is_not(None))


def _entries(index: ContentIndex) -> Iterator[set[str]]:
    """Yield the blobs of all entries of an index."""
    file, after = ContentFile, ""
    while True:
        statement = sa.select(file.path, file.sha).where(*_conditions(index), file.path > after)
        page = db.session.execute(statement.order_by(file.path).limit(PAGE)).all()
        yield {sha for _, sha in page}
        if len(page) < PAGE:
            return
        after = page[-1].path


def _entries_at(index: ContentIndex, paths: Sequence[str]) -> Iterator[set[str]]:
    for part in inserts.batches(paths, SHAS):
        yield set(db.session.scalars(sa.select(ContentFile.sha).where(*_conditions(index), ContentFile.path.in_(part))))


def _conditions(index: ContentIndex) -> tuple[sa.ColumnElement[bool], ...]:
    file = ContentFile
    return file.index_id == index.id, file.generation == index.generation, is_entry(index.project_id)


def _store(project_id: str, shas: set[str]) -> None:
    shape, value = ContentShape, ContentField
    for part in inserts.batches(sorted(shas), SHAS):
        stored_shas = db.session.scalars(
            sa.select(shape.sha).where(shape.project_id == project_id, shape.sha.in_(part))
        )
        names: dict[str, set[str]] = {sha: set() for sha in set(part) - set(stored_shas)}
        statement = sa.select(value.sha, value.name).where(value.project_id == project_id, value.number == 0)
        for sha, name in db.session.execute(statement.where(value.sha.in_(names))) if names else ():
            names[sha].add(name)
        texts = {sha: "\0".join(sorted(own)).encode() for sha, own in names.items()}
        rows = [
            (project_id, sha, hashlib.blake2b(text, digest_size=DIGITS // 2).hexdigest()) for sha, text in texts.items()
        ]
        with transactions.write_transaction():
            inserts.insert(db.session.connection(), cast("sa.Table", shape.__table__), COLUMNS, rows)
