"""Sort keys of dates in declared formats. The index stores values as they are written; a schema can make texts dates.

The key of the date replaces that of the text at the number 0. The key of the text stays at the number -1, so that
filters by the written text still match.
"""

from collections.abc import Mapping
from typing import cast

import sqlalchemy as sa

from app.content.field_values import key_of, kind_of
from app.database import inserts
from app.extensions import db
from app.models.content_search import ContentField

WRITTEN, SORTED = -1, 0
COLUMNS = ("project_id", "name", "number", "kind", "key", "sha")
SHAS = 500
_FIELDS = cast("sa.Table", ContentField.__table__)
_DELETE = sa.delete(_FIELDS).where(
    _FIELDS.c.project_id == sa.bindparam("project"),
    _FIELDS.c.name == sa.bindparam("of_name"),
    _FIELDS.c.sha == sa.bindparam("of_sha"),
    _FIELDS.c.number >= WRITTEN,
    _FIELDS.c.number <= SORTED,
)


def store(project_id: str, dates: Mapping[str, Mapping[str, str]]) -> None:
    """Store the dates of blobs, by blob and field, and restore the texts of other fields.

    The caller has a write transaction.
    """
    value, connection = ContentField, db.session.connection()
    for shas in inserts.batches(sorted(dates), SHAS):
        names = {name for sha in shas for name in dates[sha]}
        here = (value.project_id == project_id, value.sha.in_(shas))
        relevant = sa.or_(value.number == WRITTEN, sa.and_(value.number == SORTED, value.name.in_(names)))
        statement = sa.select(value.sha, value.name, value.number, value.kind, value.key).where(*here, relevant)
        stored = {(sha, name, number): (kind, key) for sha, name, number, kind, key in connection.execute(statement)}
        rows = list[tuple[object, ...]]()
        for sha, name, number in sorted(stored):
            if number == SORTED and (sha, name, WRITTEN) in stored:
                continue
            written, date = stored[sha, name, number], dates[sha].get(name)
            expected = (kind_of(date), key_of(date)) if date is not None else written
            if stored.get((sha, name, SORTED)) != expected:
                rows.append((project_id, name, SORTED, *expected, sha))
                rows += [(project_id, name, WRITTEN, *written, sha)] if date is not None else []
        if rows:
            connection.execute(_DELETE, [{"project": project_id, "of_name": row[1], "of_sha": row[5]} for row in rows])
            inserts.insert(connection, _FIELDS, COLUMNS, rows)
