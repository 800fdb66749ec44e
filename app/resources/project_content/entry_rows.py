"""Rows of a page of entries, selected with indexes, so that a page does not read all files of a branch.

If a filter or the folder selects few files, these are sorted. Otherwise the database walks the files, or the values of the
sorted field, in their order and checks each of them until the page is full.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa

from app.content.entry_filters import PATH, EntryFilter, EntryOrder
from app.extensions import db
from app.models.content_search import ContentField
from app.models.project_content import ContentFile, ContentIndex
from app.resources.project_content.entry_conditions import (
    Conditions,
    condition_of,
    exists,
    field_ranges,
    first_value,
    is_absence,
    is_entry,
)

FEW = 2_000
"""Up to this number of files is sorted for one page. A walk passes a match of more files soon."""

SYMLINK = "120000"
SAME_SHA = ContentField.sha == ContentFile.sha


class Position(NamedTuple):
    """An entry in its order: the key of its sorted value, or None if it has none, and its path."""

    key: str | None
    path: str


class EntryRow(NamedTuple):
    """A file of a page with the key of its sorted value."""

    path: str
    sha: str
    last_commit: dict[str, Any] | None
    key: str | None


@dataclass(frozen=True)
class EntryRows:
    """The entries of an index in one order. Up to `few` files are sorted for one page."""

    project_id: str
    index: ContentIndex
    folder: str | None
    order: EntryOrder
    filters: Sequence[EntryFilter]
    few: int = FEW

    def after(self, position: Position | None, limit: int) -> list[EntryRow]:
        """Return the rows after a position. Rows without the sorted field are last, by path."""
        is_by_path = self.order.name == PATH
        driver = self._driver()
        if driver is not None and driver.files == 0:
            return []
        if driver is not None:
            key = sa.null() if is_by_path else self._key()
            return self._sorted(self._select(key, driver.condition, known=driver.filter), position, limit)
        if is_by_path:
            return self._walk_paths(self._select(sa.null()), position.path if position else None, limit)
        is_past_values = position is not None and position.key is None
        rows = [] if is_past_values else self._by_value(position, limit)
        if len(rows) < limit:
            lacking = self._select(sa.null(), ~exists(*self._value(), SAME_SHA))
            rows += self._walk_paths(lacking, position.path if position and is_past_values else None, limit - len(rows))
        return rows

    def _driver(self) -> "_Driver | None":
        """Return the condition that selects the smallest number of files, or None if each selects more than `few`."""
        drivers: list[_Driver] = []
        for one in self.filters:
            if one.name != PATH and not is_absence(one):
                ranges = field_ranges(self.project_id, one)
                shas = sa.union_all(*(sa.select(ContentField.sha).where(*each) for each in ranges))
                drivers.append(_Driver(shas, ContentFile.sha.in_(shas), one))
        if self.order.name != PATH and (self.folder is not None or any(one.name == PATH for one in self.filters)):
            drivers.append(_Driver(sa.select(ContentFile.sha).where(*self._range()), sa.true(), None))
        counts = self._counts([driver.shas for driver in drivers])
        count, smallest = min(zip(counts, range(len(drivers)), strict=True), default=(self.few + 1, 0))
        return None if count > self.few else drivers[smallest]._replace(files=count)

    def _counts(self, selects: Sequence[Any]) -> list[int]:
        """Return the number of rows of each select. Counting ends above `few`."""
        if not selects:
            return []
        bounded = [select.limit(self.few + 1).subquery() for select in selects]
        counts = [sa.select(sa.func.count()).select_from(each).scalar_subquery() for each in bounded]
        return list(db.session.execute(sa.select(*counts)).one())

    def _by_value(self, position: Position | None, limit: int) -> list[EntryRow]:
        """Return files that have the sorted field by key and path."""
        key = position.key if position is not None else None
        rows = self._equal(key, position.path, limit) if position is not None and key is not None else []
        if len(rows) == limit:
            return rows
        missing = limit - len(rows)
        values = self._walk_values(key, missing + 1)
        if len(values) <= missing:
            return rows + self._files(values)[:missing]
        last = values[-1].key
        rows += self._files([value for value in values if value.key != last])[:missing]
        return rows + (self._equal(last, None, limit - len(rows)) if len(rows) < limit else [])

    def _equal(self, key: str, path: str | None, limit: int) -> list[EntryRow]:
        """Return the files with one key after a path."""
        values = (*self._value(), ContentField.key == key)
        shas = sa.select(ContentField.sha).where(*values)
        if self._counts([shas])[0] > self.few:
            files = self._select(sa.literal(key), exists(*values, SAME_SHA), has_value=True)
            return self._walk_paths(files, path, limit)
        files = self._select(sa.literal(key), ContentFile.sha.in_(shas), has_value=True)
        return self._sorted(files, None if path is None else Position(key, path), limit)

    def _walk_values(self, after: str | None, limit: int) -> list["_Value"]:
        """Return the values of the sorted field after a key that have a file among the entries, by key."""
        key = ContentField.key
        has_file = exists(*self._conditions(has_value=True), SAME_SHA, within=ContentField)
        statement = sa.select(key, ContentField.sha).where(*self._value(), has_file)
        if after is not None:
            statement = statement.where(key < after if self.order.is_descending else key > after)
        order = key.desc() if self.order.is_descending else key
        return [_Value(*row) for row in db.session.execute(statement.order_by(order).limit(limit))]

    def _files(self, values: Sequence["_Value"]) -> list[EntryRow]:
        """Return the files of values by key and path."""
        if not values:
            return []
        keys = {value.sha: value.key for value in values}
        statement = self._select(sa.null(), ContentFile.sha.in_(keys), has_value=True)
        rows = [EntryRow(path, sha, commit, keys[sha]) for path, sha, commit, _ in db.session.execute(statement)]
        rows.sort(key=lambda row: row.path)
        rows.sort(key=lambda row: keys[row.sha], reverse=self.order.is_descending)
        return rows

    def _walk_paths(self, files: sa.Select[Any], after: str | None, limit: int) -> list[EntryRow]:
        """Return files by path. The database checks each file until there are enough."""
        path, is_descending = ContentFile.path, self._is_path_descending
        if after is not None:
            files = files.where(path < after if is_descending else path > after)
        statement = files.order_by(path.desc() if is_descending else path).limit(limit)
        return [EntryRow(*row) for row in db.session.execute(statement)]

    def _sorted(self, files: sa.Select[Any], position: Position | None, limit: int) -> list[EntryRow]:
        """Return files by key and path. `OFFSET 0` selects them before they are sorted."""
        row = files.offset(0).subquery().c
        order = [row.key.is_(None), row.key.desc() if self.order.is_descending else row.key]
        path = row.path.desc() if self._is_path_descending else row.path
        statement = sa.select(row.path, row.sha, row.last_commit, row.key).order_by(*order, path).limit(limit)
        if position is not None:
            statement = statement.where(self._is_after(row, position))
        return [EntryRow(*each) for each in db.session.execute(statement)]

    def _is_after(self, row: Any, position: Position) -> sa.ColumnElement[bool]:
        is_path_after = row.path < position.path if self._is_path_descending else row.path > position.path
        if position.key is None:
            return sa.and_(row.key.is_(None), is_path_after)
        is_key_after = row.key < position.key if self.order.is_descending else row.key > position.key
        return sa.or_(row.key.is_(None), is_key_after, sa.and_(row.key == position.key, is_path_after))

    @property
    def _is_path_descending(self) -> bool:
        return self.order.name == PATH and self.order.is_descending

    def _select(
        self,
        key: sa.ColumnElement[Any],
        *extra: sa.ColumnElement[bool],
        known: EntryFilter | None = None,
        has_value: bool = False,
    ) -> sa.Select[Any]:
        file, conditions = ContentFile, self._conditions(known=known, has_value=has_value)
        return sa.select(file.path, file.sha, file.last_commit, key.label("key")).where(*conditions, *extra)

    def _conditions(self, *, known: EntryFilter | None = None, has_value: bool = False) -> Conditions:
        """Return the conditions on files, without those of a known filter. A file with a value is an entry."""
        on_fields = [one for one in self.filters if one.name != PATH]
        checks = [condition_of(self.project_id, one) for one in on_fields if one is not known]
        if not has_value and all(map(is_absence, on_fields)):
            checks.append(is_entry(self.project_id))
        return [*self._range(), *checks]

    def _key(self) -> sa.ColumnElement[str]:
        value = sa.select(ContentField.key).where(*self._value(), SAME_SHA)
        return value.correlate(ContentFile).limit(1).scalar_subquery()

    def _value(self) -> Conditions:
        return first_value(self.project_id, self.order.name)

    def _range(self) -> Conditions:
        """Return the conditions that read nothing but the files."""
        file, index = ContentFile, self.index
        conditions = [
            file.index_id == index.id,
            file.generation == index.generation,
            file.type == "blob",
            file.mode != SYMLINK,
        ]
        if self.folder is not None:
            conditions += [file.path > f"{self.folder}/", file.path < f"{self.folder}0"]
        return [*conditions, *(condition_of(self.project_id, one) for one in self.filters if one.name == PATH)]


class _Value(NamedTuple):
    key: str
    sha: str


class _Driver(NamedTuple):
    """A condition that selects few files, the shas that are counted for it, and the filter that it makes redundant."""

    shas: Any
    condition: sa.ColumnElement[bool]
    filter: EntryFilter | None
    files: int = 0
