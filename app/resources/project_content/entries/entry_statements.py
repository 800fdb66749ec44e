"""Statements of pages of entries. Each is built once for a form of list: building costs more than reading a page.

All values are parameters, with the names of `entry_conditions`. The limit is a literal, because PostgreSQL does not
know the value of a parameter when it plans a prepared statement.
"""

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from app.content.entry_filters import Operator
from app.content.field_values import AFTER_DATES, DATES
from app.models.content_search import ContentField, ContentShape, ContentText
from app.models.project_content import ContentFile
from app.resources.project_content.conditions import literal_number, name_of
from app.resources.project_content.entries.entry_conditions import (
    PROJECT,
    Conditions,
    FilterForm,
    SelectionForm,
    ValueRange,
    condition_of,
    exists,
    expect_many,
    field_ranges,
    first_value,
    is_entry,
    matches,
    selection_conditions,
)

MAX_STATEMENTS = 512
SYMLINK = "120000"
SAME_SHA = ContentField.sha == ContentFile.sha
ORDER, KEY, PATH = (sa.bindparam(name, type_=sa.Text()) for name in ("order", "key", "path"))
_FIRST: sa.ColumnElement[str] = sa.literal_column(f"'{DATES}'")
_LAST: sa.ColumnElement[str] = sa.literal_column(f"'{AFTER_DATES}'")
_FIRST_YEAR: sa.ColumnElement[str] = sa.literal_column("'1'")
_LAST_YEAR: sa.ColumnElement[str] = sa.literal_column("'3'")
"""The bounds of names that start with a year."""

_IS_DATE = ContentField.key >= _FIRST, ContentField.key < _LAST
_OTHER_VALUES = ContentField.key < _FIRST, ContentField.key >= _LAST
Statement = sa.Select[Any]


class After(Enum):
    """The position after which a page starts: none, an entry with the sorted field, or an entry without it."""

    START = "start"
    VALUE = "value"
    NO_VALUE = "no value"


class Driver(Enum):
    """The condition that selects the files of a sorted page, unless it is the filter with a number."""

    RANGE = "range"
    """The folder, or a filter of the path."""
    EQUAL = "equal"
    """One value of the sorted field."""
    NO_VALUE = "no value"
    """No value of the sorted field, or no date. The parameter `shapes` names the sets of fields without it."""


class Walk(Enum):
    """The files that a walk by path returns."""

    ALL = "all"
    EQUAL = "equal"
    NO_VALUE = "no value"


@dataclass(frozen=True)
class ListForm:
    """The form of a list of entries: its order, folder, filters and selection without their values.

    An order by name sorts by file names that start with a year. All files are sorted for a page.
    """

    is_by_path: bool
    is_by_name: bool
    is_by_date: bool
    is_descending: bool
    has_folder: bool
    filters: tuple[FilterForm, ...]
    selection: SelectionForm

    @property
    def is_path_descending(self) -> bool:
        """True if paths are in descending order. Entries with equal values are in ascending order."""
        return self.is_by_path and self.is_descending


@lru_cache(MAX_STATEMENTS)
def counts(form: ListForm, drivers: tuple[Driver | int, ...], few: int) -> Statement:
    """Return the statement that counts the blobs of each driver. Counting ends above `few`."""
    selects = [_shas(form, driver, few).limit(literal_number(few + 1)).subquery() for driver in drivers]
    return sa.select(*(sa.select(sa.func.count()).select_from(select).scalar_subquery() for select in selects))


@lru_cache(MAX_STATEMENTS)
def total(form: ListForm) -> Statement:
    """Return the statement that counts the entries of all pages."""
    return sa.select(sa.func.count()).select_from(ContentFile).where(*_conditions(form))


@lru_cache(MAX_STATEMENTS)
def value_counts(form: ListForm, few: int) -> sa.Select[str, str, int]:
    """Return the statement that counts the first values of the fields `names` in at most `few` entries."""
    value, files = ContentField, sa.select(ContentFile.sha).where(*_conditions(form)).limit(literal_number(few))
    shas = files.subquery()
    statement = sa.select(value.name, value.key, sa.func.count()).join(shas, shas.c.sha == value.sha)
    names = value.name.in_(sa.bindparam("names", expanding=True))
    own = (value.project_id == PROJECT, names, value.number == literal_number(0))
    return statement.where(*own).group_by(value.name, value.key)


@lru_cache(MAX_STATEMENTS)
def sorted_page(form: ListForm, driver: Driver | int, after: After, limit: int, few: int) -> Statement:
    """Return the statement that selects the files of a driver and sorts them.

    The driver selects at most `few` blobs.
    """
    files = _files_of(form, driver, few).offset(literal_number(0)).subquery()
    page = sa.select(files).order_by(*_sorting(form, files.c)).limit(literal_number(limit))
    if after is not After.START:
        page = page.where(_is_after(form, files.c, after))
    row = page.subquery().c
    return sa.select(row.path, row.sha, row.last_commit, row.key, _front_matter(row.sha)).order_by(*_sorting(form, row))


@lru_cache(MAX_STATEMENTS)
def path_walk(form: ListForm, walk: Walk, limit: int, *, is_continued: bool) -> Statement:
    """Return the statement that checks the files by path until the page is full."""
    file, is_descending = ContentFile, form.is_path_descending
    key = KEY if walk is Walk.EQUAL else sa.null()
    statement = sa.select(file.path, file.sha, file.last_commit, key.label("key"), _front_matter(file.sha))
    statement = statement.where(*_conditions(form, has_value=walk is Walk.EQUAL))
    if walk is Walk.EQUAL:
        statement = statement.where(exists(*first_value(ORDER), ContentField.key == KEY, SAME_SHA))
    elif walk is Walk.NO_VALUE:
        statement = statement.where(~exists(*_sorted_value(form), SAME_SHA))
    if is_continued:
        statement = statement.where(file.path < PATH if is_descending else file.path > PATH)
    order = file.path.desc() if is_descending else file.path
    return statement.order_by(order).limit(literal_number(limit))


@lru_cache(MAX_STATEMENTS)
def value_walk(form: ListForm, limit: int, *, is_continued: bool) -> Statement:
    """Return the statement that reads the sorted field's values by key, each with its files, until the page is full."""
    file, key = ContentFile, ContentField.key
    statement = sa.select(file.path, file.sha, file.last_commit, key, _front_matter(ContentField.sha))
    statement = statement.select_from(sa.join(ContentField, file, SAME_SHA))
    statement = statement.where(*_sorted_value(form), *_conditions(form, has_value=True, is_by_sha=True))
    if is_continued:
        statement = statement.where(key < KEY if form.is_descending else key > KEY)
    return statement.order_by(key.desc() if form.is_descending else key).limit(literal_number(limit))


def _shas(form: ListForm, driver: Driver | int, few: int) -> Any:
    """Return the select of the blobs of a driver."""
    if driver is Driver.RANGE:
        return sa.select(ContentFile.sha).where(*_range(form)).order_by(ContentFile.path)
    if driver is Driver.EQUAL:
        return _blobs(ValueRange((*first_value(ORDER), ContentField.key == KEY)), few)
    if isinstance(driver, int) and not form.filters[driver].is_absence:
        ranges = field_ranges(form.filters[driver], driver)
        return sa.union_all(*(_blobs(span, few) for span in ranges))
    parameter = "shapes" if driver is Driver.NO_VALUE else f"shapes_{driver}"
    named: sa.BindParameter[Any] = sa.bindparam(parameter, expanding=True)
    without = sa.select(ContentShape.sha).where(ContentShape.project_id == PROJECT, ContentShape.shape.in_(named))
    if driver is not Driver.NO_VALUE or not form.is_by_date:
        return without
    others = [_blobs(ValueRange((*first_value(ORDER), value)), few) for value in _OTHER_VALUES]
    return sa.union_all(without, *others)


def _blobs(values: ValueRange, few: int) -> Statement:
    """Return the select of the blobs of a range of values.

    Its order makes PostgreSQL read the index up to the limit.
    """
    key, sha = ContentField.key, ContentField.sha
    own = sa.select(key, sha).where(*values.conditions).order_by(key, sha)
    if values.pattern is None:
        row = own.limit(literal_number(few + 1)).subquery().c
        return sa.select(row.sha)
    row = own.offset(literal_number(0)).subquery().c
    return sa.select(row.sha).where(matches(row.key, values.pattern))


def _files_of(form: ListForm, driver: Driver | int, few: int) -> Statement:
    """Return the select of the files of a driver, with the key of the sorted value of each."""
    file, is_by_sha = ContentFile, driver is not Driver.RANGE
    conditions = _conditions(form, applied_filter=driver, has_value=driver is Driver.EQUAL, is_by_sha=is_by_sha)
    statement = sa.select(file.path, file.sha, file.last_commit, _key_of(form, driver)).where(*conditions)
    return statement.where(file.sha.in_(_shas(form, driver, few))) if is_by_sha else statement


def _key_of(form: ListForm, driver: Driver | int) -> Any:
    if form.is_by_path or driver is Driver.NO_VALUE:
        return sa.null().label("key")
    if form.is_by_name:
        name = name_of(ContentFile.path)
        return sa.case((sa.and_(name >= _FIRST_YEAR, name < _LAST_YEAR), name), else_=sa.null()).label("key")
    if driver is Driver.EQUAL:
        return KEY.label("key")
    value = sa.select(ContentField.key).where(*_sorted_value(form), SAME_SHA)
    return value.correlate_except(ContentField).limit(literal_number(1)).scalar_subquery().label("key")


def _sorted_value(form: ListForm) -> Conditions:
    """Return the conditions of the value by which files are sorted."""
    return (*first_value(ORDER), *_IS_DATE) if form.is_by_date else first_value(ORDER)


def _front_matter(sha: Any) -> Any:
    text = ContentText
    values = sa.select(text.front_matter).where(text.project_id == PROJECT, text.sha == sha)
    return values.correlate_except(text).scalar_subquery().label("front_matter")


def _sorting(form: ListForm, row: Any) -> tuple[Any, ...]:
    path = row.path.desc() if form.is_path_descending else row.path
    key = row.key.desc() if form.is_descending else row.key
    return (path,) if form.is_by_path else (key.nulls_last(), path)


def _is_after(form: ListForm, row: Any, after: After) -> sa.ColumnElement[bool]:
    is_path_after = row.path < PATH if form.is_path_descending else row.path > PATH
    if after is After.NO_VALUE:
        return sa.and_(row.key.is_(None), is_path_after)
    is_key_after = row.key < KEY if form.is_descending else row.key > KEY
    return sa.or_(row.key.is_(None), is_key_after, sa.and_(row.key == KEY, is_path_after))


def _conditions(
    form: ListForm, *, applied_filter: Driver | int | None = None, has_value: bool = False, is_by_sha: bool = False
) -> Conditions:
    """Return the conditions on files without those of a known filter.

    A file with a value is an entry, and each file of a set of paths is one.
    """
    numbered = [(number, condition) for number, condition in enumerate(form.filters) if not condition.is_path]
    checks = [condition_of(condition, number) for number, condition in numbered if number != applied_filter]
    is_any = has_value or form.selection.has_paths
    if not is_any and all(condition.is_absence for _, condition in numbered):
        checks.append(is_entry(PROJECT))
    return [*_range(form, is_by_sha=is_by_sha), *checks]


def _range(form: ListForm, *, is_by_sha: bool = False) -> Conditions:
    """Return the conditions that read nothing but the files. `is_by_sha` is true if the files of blobs are read.

    SQLite would read the range of the paths for each blob, so the blobs hide the index on paths.
    """
    file = ContentFile
    path: Any = file.path + sa.literal_column("''") if is_by_sha else file.path
    conditions = [
        file.index_id == sa.bindparam("index"),
        file.generation == sa.bindparam("generation"),
        file.type == sa.literal_column("'blob'"),
        file.mode != sa.literal_column(f"'{SYMLINK}'"),
    ]
    if form.has_folder:
        bounds = path > sa.bindparam("folder"), path < sa.bindparam("folder_end")
        conditions += [expect_many(*bounds)] if is_by_sha else bounds
    conditions += selection_conditions(form.selection, path)
    return [
        *conditions,
        *(condition_of(condition, number, path) for number, condition in enumerate(form.filters) if condition.is_path),
    ]


def has_few_paths(form: ListForm) -> bool:
    """Return whether the folder or a filter of the path may select few files."""
    return form.has_folder or any(
        condition.is_path and condition.operator is not Operator.MISSING for condition in form.filters
    )
