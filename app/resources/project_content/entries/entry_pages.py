"""Entries: the content files of a branch with the fields of their front matter, read from the index without Git.

A cursor names the last entry, so that pages stay correct while the branch changes. If a filter or the folder selects
few files, these are sorted. Otherwise the database walks the files, or the values of the sorted field, in their order
and checks each of them until the page is full.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import sqlalchemy as sa

from app.content.entry_filters import PATH, EntryFilter, EntryOrder, Operator
from app.content.field_values import value_of
from app.core.cursors import decode_cursor, paginate
from app.core.errors import InvalidRequest
from app.extensions import db
from app.models.project import Project
from app.models.project_content import ContentBlob, ContentIndex
from app.resources.project_content.entries import entry_statements
from app.resources.project_content.entries.entry_conditions import (
    FileSelection,
    form_of,
    parameters_of,
    selection_form,
    selection_parameters,
)
from app.resources.project_content.entries.entry_shapes import shapes_without
from app.resources.project_content.entries.entry_statements import (
    After,
    Driver,
    ListForm,
    Statement,
    Walk,
    has_few_paths,
)
from app.resources.project_content.versions.file_metadata import kind_of

BY_PATH = EntryOrder()
FEW = 2_000
"""Up to this number of files is sorted for one page. A walk passes a match of more files soon."""


ALL_FILES = FileSelection()


class CursorPosition(NamedTuple):
    """An entry in its order: the key of its sorted value, or None if it has none, and its path."""

    key: str | None
    path: str


class EntryRow(NamedTuple):
    """A file of a page with the key of its sorted value and the front matter of its indexed text."""

    path: str
    sha: str
    last_commit: dict[str, Any] | None
    key: str | None
    front_matter: dict[str, Any] | None


@dataclass(frozen=True)
class EntryRows:
    """The entries of an index in one order. Up to `few` files are sorted for one page."""

    project_id: str
    index: ContentIndex
    folder: str | None
    order: EntryOrder
    filters: Sequence[EntryFilter]
    few: int = FEW
    selection: FileSelection = ALL_FILES

    def after(self, position: CursorPosition | None, limit: int) -> list[EntryRow]:
        """Return the rows after a position. Rows without the sorted field are last, by path."""
        driver, files = self._driver()
        if files == 0:
            return []
        if files <= self.few:
            return self._sorted(driver, position, limit)
        if self._form.is_by_name:
            return self._sorted(Driver.RANGE, position, limit)
        if self._form.is_by_path:
            return self._walk_paths(Walk.ALL, position.path if position else None, limit)
        is_past_values = position is not None and position.key is None
        rows = [] if is_past_values else self._by_value(position, limit)
        if len(rows) < limit:
            rows += self._without_value(position if is_past_values else None, limit - len(rows))
        return rows

    def total(self) -> int:
        """Return the number of entries."""
        return db.session.scalar(entry_statements.total(self._form), self._parameters) or 0

    def value_counts(self, names: Sequence[str]) -> dict[str, dict[str, int]]:
        """Return the number of entries with each value of some fields, by their keys. At most `few` are counted."""
        counts = dict[str, dict[str, int]]()
        statement = entry_statements.value_counts(self._form, self.few)
        for name, key, number in db.session.execute(statement, self._parameters | {"names": list(names)}):
            counts.setdefault(name, {})[key] = number
        return counts

    def _driver(self) -> tuple[Driver | int, int]:
        """Return the condition that selects the smallest number of blobs, and this number."""
        drivers: list[Driver | int] = []
        for number, condition in enumerate(self._form.filters):
            if condition.is_absence and not condition.is_path:
                shapes = shapes_without(self.index, self.filters[number].name)
                if shapes is None:
                    continue
                if not shapes:
                    return number, 0
                self._parameters[f"shapes_{number}"] = shapes
            if not condition.is_path:
                drivers.append(number)
        if not self._form.is_by_path and has_few_paths(self._form):
            drivers.append(Driver.RANGE)
        counts = zip(self._count(*drivers), drivers, strict=True)
        number, smallest = min(counts, key=lambda counted: counted[0], default=(self.few + 1, Driver.RANGE))
        return smallest, number

    def _count(self, *drivers: Driver | int) -> list[int]:
        """Return the number of blobs of each driver. Counting ends above `few`."""
        if not drivers:
            return []
        statement = entry_statements.counts(self._form, drivers, self.few)
        return list(db.session.execute(statement, self._parameters).one())

    def _by_value(self, position: CursorPosition | None, limit: int) -> list[EntryRow]:
        """Return files that have the sorted field by key and path."""
        key = position.key if position is not None else None
        rows = self._equal(key, position.path, limit) if position is not None and key is not None else []
        if len(rows) == limit:
            return rows
        missing = limit - len(rows)
        statement = entry_statements.value_walk(self._form, missing + 1, is_continued=key is not None)
        files = self._execute(statement, key=key)
        files.sort(key=lambda row: row.path)
        files.sort(key=lambda row: str(row.key), reverse=self._form.is_descending)
        if len(files) <= missing:
            return rows + files
        last = str(files[-1].key)
        rows += [row for row in files if row.key != last][:missing]
        return rows + (self._equal(last, None, limit - len(rows)) if len(rows) < limit else [])

    def _equal(self, key: str, path: str | None, limit: int) -> list[EntryRow]:
        """Return the files with one key after a path."""
        self._parameters["key"] = key
        if self._count(Driver.EQUAL)[0] > self.few:
            return self._walk_paths(Walk.EQUAL, path, limit)
        return self._sorted(Driver.EQUAL, None if path is None else CursorPosition(key, path), limit)

    def _without_value(self, position: CursorPosition | None, limit: int) -> list[EntryRow]:
        """Return the files without the sorted field by path."""
        shapes = shapes_without(self.index, self._order.name)
        if shapes is not None:
            if not shapes and not self._form.is_by_date:
                return []
            self._parameters["shapes"] = shapes
            if self._count(Driver.NO_VALUE)[0] <= self.few:
                return self._sorted(Driver.NO_VALUE, position, limit)
        return self._walk_paths(Walk.NO_VALUE, position.path if position else None, limit)

    def _walk_paths(self, walk: Walk, after: str | None, limit: int) -> list[EntryRow]:
        """Return files by path. The database checks each file until there are enough."""
        statement = entry_statements.path_walk(self._form, walk, limit, is_continued=after is not None)
        return self._execute(statement, path=after)

    def _sorted(self, driver: Driver | int, position: CursorPosition | None, limit: int) -> list[EntryRow]:
        """Return the files of a driver by key and path."""
        if position is None:
            return self._execute(entry_statements.sorted_page(self._form, driver, After.START, limit, self.few))
        after = After.NO_VALUE if position.key is None else After.VALUE
        statement = entry_statements.sorted_page(self._form, driver, after, limit, self.few)
        return self._execute(statement, **position._asdict())

    def _execute(self, statement: Statement, **position: str | None) -> list[EntryRow]:
        return [EntryRow._make(row) for row in db.session.execute(statement, self._parameters | position)]

    @cached_property
    def _order(self) -> EntryOrder:
        """The order of the rows. If a filter selects the entries without the sorted field, they are sorted by path."""
        is_absent = EntryFilter(self.order.name, Operator.MISSING, "true") in self.filters
        return BY_PATH if is_absent else self.order

    @cached_property
    def _form(self) -> ListForm:
        forms = tuple(map(form_of, self.filters))
        selection = selection_form(self.selection)
        order = self._order
        return ListForm(
            is_by_path=order.name == PATH and not order.is_by_date,
            is_by_name=order.name == PATH and order.is_by_date,
            is_by_date=order.name != PATH and order.is_by_date,
            is_descending=order.is_descending,
            has_folder=self.folder is not None,
            filters=forms,
            selection=selection,
        )

    @cached_property
    def _parameters(self) -> dict[str, Any]:
        index = self.index
        own: dict[str, Any] = {"project": self.project_id, "index": index.id, "generation": index.generation}
        if not self._form.is_by_path:
            own["order"] = self._order.name
        if self.folder is not None:
            own |= {"folder": f"{self.folder}/", "folder_end": f"{self.folder}0"}
        for number, condition in enumerate(self.filters):
            own |= parameters_of(condition, number)
        return own | selection_parameters(self.selection)


@dataclass(frozen=True)
class EntryQuery:
    """A page of entries. `fields` None means all fields of the front matter."""

    folder: str | None = None
    fields: Sequence[str] | None = None
    order: EntryOrder = BY_PATH
    filters: tuple[EntryFilter, ...] = ()
    limit: int = 50
    cursor: str | None = None
    selection: FileSelection = ALL_FILES


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
    rows = _rows_of(project, index, query).after(after, query.limit + 1)
    page, cursor = paginate(rows, query.limit, kind, lambda row: json.dumps([row.key, row.path]))
    values = _front_matter(project.id, page)
    is_complete = index.described_sha == index.commit_sha
    meta = {"next_cursor": cursor, "commit_sha": index.commit_sha, "complete": is_complete}
    return EntryPage([_entry(row, values[row.path], query.fields) for row in page], meta)


def count_entries(project: Project, index: ContentIndex | None, query: EntryQuery) -> int:
    """Return the number of entries of all pages."""
    return 0 if index is None or index.generation == 0 else _rows_of(project, index, query).total()


def value_counts(
    project: Project, index: ContentIndex | None, query: EntryQuery, names: Sequence[str]
) -> dict[str, dict[str, int]] | None:
    """Return the number of entries with each value of some fields, or None while they are being read."""
    if index is None or index.generation == 0 or index.described_sha != index.commit_sha:
        return None
    return _rows_of(project, index, query).value_counts(names) if names else {}


def _rows_of(project: Project, index: ContentIndex, query: EntryQuery) -> EntryRows:
    return EntryRows(project.id, index, query.folder, query.order, query.filters, selection=query.selection)


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
        facts = {(sha, kind): fact for sha, kind, fact in db.session.execute(stored)}
        for row in unread:
            values[row.path] = facts.get((row.sha, kind_of(row.path)), {}).get("front_matter") or {}
    return values


def _cursor_kind(query: EntryQuery) -> str:
    """Return a digest of the list, so that a cursor of another order or filter is refused."""
    parts = [query.folder, query.order.name, query.order.is_descending, query.order.is_by_date]
    parts += [list(map(str, (f.name, f.operator, f.value))) for f in query.filters]  # type: ignore[misc]
    if query.selection != ALL_FILES:
        parts.append(repr(query.selection))
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=6).hexdigest()


def _decode(cursor: str, kind: str) -> CursorPosition:
    try:
        key, path = json.loads(decode_cursor(cursor, kind))
    except ValueError as error:
        raise InvalidRequest.field("cursor", "The cursor does not belong to this list") from error
    if not isinstance(path, str) or not isinstance(key, str | None) or "\0" in f"{key}{path}":
        raise InvalidRequest.field("cursor", "The cursor does not belong to this list")
    return CursorPosition(key, path)
