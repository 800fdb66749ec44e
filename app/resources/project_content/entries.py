"""Entries: the content files of a branch with the fields of their front matter, read from the index without Git.

Each page is one statement, or two where entries with and without the sorted field meet. A cursor names the last entry, so
that pages stay correct while the branch changes.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from app.content.entry_filters import PATH, EntryFilter, EntryOrder
from app.content.field_values import value_of
from app.content.filetypes import endings_of
from app.core.cursors import decode_cursor, encode_cursor
from app.core.errors import InvalidRequest
from app.extensions import db
from app.models.content_search import ContentField, ContentText
from app.models.project import Project
from app.models.project_content import ContentBlob, ContentFile, ContentIndex
from app.resources.project_content.entry_conditions import condition_of, shas_with_field
from app.resources.project_content.file_metadata import kind_of

MARKUP = ("markdown", "mdx", "markdoc", "asciidoc", "restructuredtext", "org", "textile")
"""Files of these languages are entries. A file of another language with front matter is an entry too."""

SYMLINK = "120000"
_ENDINGS = [ending for language in MARKUP for ending in endings_of(language)]


BY_PATH = EntryOrder()


@dataclass(frozen=True)
class EntryQuery:
    """A page of entries. `fields` None means all fields of the front matter."""

    folder: str | None = None
    fields: Sequence[str] | None = None
    order: EntryOrder = BY_PATH
    filters: tuple[EntryFilter, ...] = ()
    limit: int = 50
    cursor: str | None = None


@dataclass(frozen=True)
class EntryPage:
    """Entries with the metadata of the response. `meta.complete` is false while front matter is still being read."""

    entries: list[dict[str, Any]]
    meta: dict[str, Any]


@dataclass(frozen=True)
class _Position:
    """The last entry of a page: its key, or None if it has no value, and its path."""

    key: str | None
    path: str


def entries(project: Project, index: ContentIndex | None, query: EntryQuery) -> EntryPage:
    """Return a page of entries.

    Raises:
        InvalidRequest: the cursor belongs to another list.
    """
    kind = _cursor_kind(query)
    after = _decode(query.cursor, kind) if query.cursor else None
    if index is None or index.generation == 0:
        return EntryPage([], {"next_cursor": None, "commit_sha": None, "complete": False})
    rows = _rows(project.id, index, query, after)
    page = rows[: query.limit]
    values = _front_matter(project.id, page)
    cursor = _encode(page[-1], kind) if len(rows) > query.limit else None
    is_complete = index.described_sha == index.commit_sha
    meta = {"next_cursor": cursor, "commit_sha": index.commit_sha, "complete": is_complete}
    return EntryPage([_entry(row, values[row.path], query.fields) for row in page], meta)


def _entry(row: Any, values: dict[str, Any], fields: Sequence[str] | None) -> dict[str, Any]:
    shown = values if fields is None else {name: value_of(values, name) for name in fields}
    return {"path": row.path, "sha": row.sha, "fields": shown, "last_commit": row.last_commit}


def _rows(project_id: str, index: ContentIndex, query: EntryQuery, after: _Position | None) -> list[Any]:
    """Return the rows of a page and the next one, those without the sorted field last."""
    conditions = _conditions(project_id, index, query)
    if query.order.name == PATH:
        return _by_path(project_id, conditions, query, after)
    rows = [] if after is not None and after.key is None else _by_field(project_id, conditions, query, after)
    if len(rows) <= query.limit:
        lacking = [*conditions, ContentFile.sha.not_in(shas_with_field(project_id, query.order.name))]
        start = after if after is not None and after.key is None else None
        rows += _by_path(project_id, lacking, query, start, query.limit + 1 - len(rows), is_descending=False)
    return rows


def _columns(key: Any) -> sa.Select[Any]:
    file, text = ContentFile, ContentText
    return sa.select(file.path, file.sha, file.last_commit, text.front_matter, key.label("key"))


def _by_path(
    project_id: str,
    conditions: Sequence[sa.ColumnElement[bool]],
    query: EntryQuery,
    after: _Position | None,
    limit: int | None = None,
    *,
    is_descending: bool | None = None,
) -> list[Any]:
    file = ContentFile
    descending = query.order.is_descending if is_descending is None else is_descending
    statement = _columns(sa.null()).outerjoin(ContentText, _is_text(project_id)).where(*conditions, is_entry())
    if after is not None:
        statement = statement.where(file.path < after.path if descending else file.path > after.path)
    statement = statement.order_by(file.path.desc() if descending else file.path).limit(limit or query.limit + 1)
    return list(db.session.execute(statement))


def _by_field(
    project_id: str, conditions: Sequence[sa.ColumnElement[bool]], query: EntryQuery, after: _Position | None
) -> list[Any]:
    file, value = ContentFile, ContentField
    here = sa.and_(value.project_id == project_id, value.name == query.order.name, value.number == 0)
    statement = (
        _columns(value.key)
        .join(value, sa.and_(value.sha == file.sha, here))
        .outerjoin(ContentText, _is_text(project_id))
        .where(*conditions)
    )
    if after is not None:
        statement = statement.where(_is_after(after, is_descending=query.order.is_descending))
    order = value.key.desc() if query.order.is_descending else value.key
    return list(db.session.execute(statement.order_by(order, file.path).limit(query.limit + 1)))


def _is_after(after: _Position, *, is_descending: bool) -> sa.ColumnElement[bool]:
    key = ContentField.key
    # The first condition is redundant. It is the one that bounds the scan of the index.
    reached, passed = (key <= after.key, key < after.key) if is_descending else (key >= after.key, key > after.key)
    return sa.and_(reached, sa.or_(passed, ContentFile.path > after.path))


def _conditions(project_id: str, index: ContentIndex, query: EntryQuery) -> list[sa.ColumnElement[bool]]:
    file = ContentFile
    conditions = [
        file.index_id == index.id,
        file.generation == index.generation,
        file.type == "blob",
        file.mode != SYMLINK,
    ]
    if query.folder is not None:
        conditions += [file.path > f"{query.folder}/", file.path < f"{query.folder}0"]
    return [*conditions, *(condition_of(project_id, condition) for condition in query.filters)]


def _is_text(project_id: str) -> sa.ColumnElement[bool]:
    return sa.and_(ContentText.project_id == project_id, ContentText.sha == ContentFile.sha)


def is_entry() -> sa.ColumnElement[bool]:
    """Return the condition that a file is markup, or has front matter. PostgreSQL compares case."""
    path = sa.func.lower(ContentFile.path)
    has_front_matter = sa.cast(ContentText.front_matter, sa.Text) != "null"
    return sa.or_(*(path.like(f"%{ending}") for ending in _ENDINGS), has_front_matter)


def _front_matter(project_id: str, rows: Iterable[Any]) -> dict[str, dict[str, Any]]:
    """Return the values of each path. A blob whose text is not indexed yet may be known by its metadata."""
    values = {row.path: row.front_matter or {} for row in rows}
    unread = [row for row in rows if row.front_matter is None]
    blob = ContentBlob
    if unread:
        known = sa.select(blob.sha, blob.kind, blob.facts).where(
            blob.project_id == project_id, blob.sha.in_({row.sha for row in unread})
        )
        facts = {(sha, kind): stored for sha, kind, stored in db.session.execute(known)}
        for row in unread:
            values[row.path] = facts.get((row.sha, kind_of(row.path)), {}).get("front_matter") or {}
    return values


def _cursor_kind(query: EntryQuery) -> str:
    """Return a digest of the list, so that a cursor of another order or filter is refused."""
    parts = [query.folder, query.order.name, query.order.is_descending]
    parts += [list(map(str, (f.name, f.operator, f.value))) for f in query.filters]  # type: ignore[misc]
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=6).hexdigest()


def _encode(row: Any, kind: str) -> str:
    return encode_cursor(kind, json.dumps([row.key, row.path]))


def _decode(cursor: str, kind: str) -> _Position:
    try:
        key, path = json.loads(decode_cursor(cursor, kind))
    except ValueError as error:
        raise InvalidRequest.field("cursor", "The cursor does not belong to this list") from error
    if not isinstance(path, str) or not isinstance(key, str | None) or "\0" in f"{key}{path}":
        raise InvalidRequest.field("cursor", "The cursor does not belong to this list")
    return _Position(key, path)
