"""Entries: the content files of a branch with the fields of their front matter, read from the index without Git.

A cursor names the last entry, so that pages stay correct while the branch changes.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from app.content.entry_filters import EntryFilter, EntryOrder
from app.content.field_values import value_of
from app.core.cursors import decode_cursor, encode_cursor
from app.core.errors import InvalidRequest
from app.extensions import db
from app.models.project import Project
from app.models.project_content import ContentBlob, ContentIndex
from app.resources.project_content.entry_rows import EntryRow, EntryRows, Position
from app.resources.project_content.file_metadata import kind_of

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


def entries(project: Project, index: ContentIndex | None, query: EntryQuery) -> EntryPage:
    """Return a page of entries.

    Raises:
        InvalidRequest: the cursor belongs to another list.
    """
    kind = _cursor_kind(query)
    after = _decode(query.cursor, kind) if query.cursor else None
    if index is None or index.generation == 0:
        return EntryPage([], {"next_cursor": None, "commit_sha": None, "complete": False})
    rows = EntryRows(project.id, index, query.folder, query.order, query.filters).after(after, query.limit + 1)
    page = rows[: query.limit]
    values = _front_matter(project.id, page)
    cursor = _encode(page[-1], kind) if len(rows) > query.limit else None
    is_complete = index.described_sha == index.commit_sha
    meta = {"next_cursor": cursor, "commit_sha": index.commit_sha, "complete": is_complete}
    return EntryPage([_entry(row, values[row.path], query.fields) for row in page], meta)


def _entry(row: EntryRow, values: dict[str, Any], fields: Sequence[str] | None) -> dict[str, Any]:
    shown = values if fields is None else {name: value_of(values, name) for name in fields}
    return {"path": row.path, "sha": row.sha, "fields": shown, "last_commit": row.last_commit}


def _front_matter(project_id: str, rows: Sequence[EntryRow]) -> dict[str, dict[str, Any]]:
    """Return the values of each path. A blob whose text is not indexed yet may be known by its metadata."""
    values = {row.path: row.front_matter or {} for row in rows}
    unread, blob = [row for row in rows if row.front_matter is None], ContentBlob
    if unread:
        stored = sa.select(blob.sha, blob.kind, blob.facts).where(
            blob.project_id == project_id, blob.sha.in_({row.sha for row in unread})
        )
        facts = {(sha, kind): each for sha, kind, each in db.session.execute(stored)}
        for row in unread:
            values[row.path] = facts.get((row.sha, kind_of(row.path)), {}).get("front_matter") or {}
    return values


def _cursor_kind(query: EntryQuery) -> str:
    """Return a digest of the list, so that a cursor of another order or filter is refused."""
    parts = [query.folder, query.order.name, query.order.is_descending]
    parts += [list(map(str, (f.name, f.operator, f.value))) for f in query.filters]  # type: ignore[misc]
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=6).hexdigest()


def _encode(row: EntryRow, kind: str) -> str:
    return encode_cursor(kind, json.dumps([row.key, row.path]))


def _decode(cursor: str, kind: str) -> Position:
    try:
        key, path = json.loads(decode_cursor(cursor, kind))
    except ValueError as error:
        raise InvalidRequest.field("cursor", "The cursor does not belong to this list") from error
    if not isinstance(path, str) or not isinstance(key, str | None) or "\0" in f"{key}{path}":
        raise InvalidRequest.field("cursor", "The cursor does not belong to this list")
    return Position(key, path)
