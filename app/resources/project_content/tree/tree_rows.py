"""Files of an index as response dictionaries, read from the rows of its commit: all of them or a range of paths."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import sqlalchemy as sa
from flask import current_app

from app.database import transactions
from app.extensions import db
from app.models.project_content import ContentFile, ContentIndex

PAGE = 5_000
# Built once and without ORM objects: building the statement costs more than its execution.
_FILES, _INDEXES = sa.inspect(ContentFile).local_table, sa.inspect(ContentIndex).local_table
_ALL = (
    sa.select(
        _FILES.c.path,
        _FILES.c.type,
        _FILES.c.mode,
        _FILES.c.sha,
        _FILES.c.size,
        sa.select(_INDEXES.c.commit_sha).where(_INDEXES.c.id == sa.bindparam("index")).scalar_subquery(),
    )
    .where(_FILES.c.index_id == sa.bindparam("index"), _FILES.c.generation == sa.bindparam("generation"))
    .order_by(_FILES.c.path)
)
_FROM = _ALL.where(_FILES.c.path >= sa.bindparam("first"))
_RANGE = _FROM.where(_FILES.c.path < sa.bindparam("following"))
_COMMIT = sa.select(_INDEXES.c.commit_sha).where(_INDEXES.c.id == sa.bindparam("index"))
Range = tuple[str, str | None]
"""The first path, and the first path after the range or None."""


class IndexMoved(Exception):
    """The index moved between the read of its row and the read of its files."""


def entry(path: str, kind: str, mode: str, sha: str, size: int | None) -> dict[str, object]:
    """Return a file as a response dictionary."""
    return {"path": path, "type": kind, "size": size, "sha": sha, "mode": mode}


def rows(index: ContentIndex) -> Iterator[dict[str, Any]]:
    """Yield the files of the index's commit as response dictionaries in Git's order.

    One statement reads one state of the database, so all files belong to one commit.

    Raises:
        IndexMoved: the index has another commit.
    """
    is_empty, here = True, {"index": index.id, "generation": index.generation}
    with _streaming() as connection, connection.execute(_ALL, here) as result:
        for *file, present_sha in result:
            if present_sha != index.commit_sha:
                raise IndexMoved
            is_empty = False
            yield entry(*file)
    if is_empty and index.files:
        raise IndexMoved


def ranges(index: ContentIndex, selected: Iterable[Range]) -> Iterator[list[dict[str, object]]]:
    """Yield the files of each range as response dictionaries in Git's order.

    Raises:
        IndexMoved: the index has another commit.
    """
    here = {"index": index.id, "generation": index.generation}
    with _streaming() as connection:
        for first, following in selected:
            where = here | {"first": first} | ({} if following is None else {"following": following})
            results = connection.execute(_FROM if following is None else _RANGE, where).all()
            if any(row[-1] != index.commit_sha for row in results):
                raise IndexMoved
            yield [entry(*file) for *file, _ in results]
        if connection.scalar(_COMMIT, here) != index.commit_sha:
            raise IndexMoved


def _streaming() -> AbstractContextManager[sa.Connection]:
    """Return a connection that is independent of `db.session` and streams rows.

    `db.session` returns its connection first: a thread that waits for a second one of its pool can wait forever.
    """
    transactions.release_connection()
    if db.engine.dialect.name == "postgresql":
        return db.engine.connect().execution_options(stream_results=True, max_row_buffer=PAGE)
    reading: sa.Engine = current_app.extensions["reading_engine"]
    return reading.connect()
