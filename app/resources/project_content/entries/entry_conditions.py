"""SQL conditions of the filters and selections of entries, and their parameters.

Conditions on fields are subqueries that the database evaluates for each file with an index. `OFFSET 0` prevents that
PostgreSQL joins them instead, which would read all values of a field for one page.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa

from app.content.entry_filters import PATH, EntryFilter, Operator, bounds, equal_keys
from app.content.field_values import ITEM, SEPARATOR, text_key
from app.content.filetypes import endings_of
from app.content.schema.path_sets import PathSet
from app.content.words import fold
from app.models.content_search import ContentField, ContentText
from app.models.project_content import ContentFile
from app.resources.project_content.conditions import ESCAPE, escaped, literal_number, name_of

MARKUP = ("markdown", "mdx", "markdoc", "asciidoc", "restructuredtext", "org", "textile")
"""Files of these languages are entries. A file of another language with front matter is an entry too."""

PROJECT: sa.BindParameter[str] = sa.bindparam("project")
Conditions = Sequence[sa.ColumnElement[bool]]

_IS_MARKUP = sa.or_(
    *(sa.func.lower(ContentFile.path).like(f"%{ending}") for language in MARKUP for ending in endings_of(language))
)
_WILDCARD = re.compile(r"\*\*/|\*\*?")


@dataclass(frozen=True)
class FilterForm:
    """A filter without its name and value. `is_absence` is true if it selects files without the field.

    `keys` is the number of keys that equal its value.
    """

    is_path: bool
    operator: Operator
    is_absence: bool
    keys: int


@dataclass(frozen=True)
class FileSelection:
    """The files that columns of the index select: paths, a text in title or name, and the draft state."""

    paths: PathSet | None = None
    term: str = ""
    is_draft: bool | None = None


@dataclass(frozen=True)
class SelectionForm:
    """A selection without its values: the numbers of its patterns, and the conditions that it has."""

    has_paths: bool
    patterns: int
    unlike: int
    without: int
    has_slashes: bool
    has_term: bool
    is_draft: bool | None


class ValueRange(NamedTuple):
    """Conditions of values that are a range of the primary key, and the pattern that their keys match, if any."""

    conditions: Conditions
    pattern: sa.BindParameter[str] | None = None

    @property
    def all_conditions(self) -> Conditions:
        """The conditions with the pattern."""
        return self.conditions if self.pattern is None else [*self.conditions, matches(ContentField.key, self.pattern)]


def form_of(condition: EntryFilter) -> FilterForm:
    """Return the form of a filter."""
    is_absence = condition.operator is Operator.MISSING and condition.value == "true"
    has_keys = condition.operator in (Operator.EQUAL, Operator.CONTAINS)
    keys = len(equal_keys(condition.value)) if has_keys else 0
    return FilterForm(condition.name == PATH, condition.operator, is_absence, keys)


def parameters_of(condition: EntryFilter, number: int) -> dict[str, Any]:
    """Return the parameters of the filter with a number."""
    name, value, operator = condition.name, condition.value, condition.operator
    if name == PATH:
        part = f"%{escaped(value)}%" if operator is Operator.CONTAINS else value
        return {} if operator is Operator.MISSING else {f"value_{number}": part}
    own: dict[str, Any] = {f"name_{number}": name}
    if operator in (Operator.EQUAL, Operator.CONTAINS):
        own |= {f"key_{number}_{position}": key for position, key in enumerate(equal_keys(value))}
    if operator is Operator.CONTAINS:
        own[f"item_{number}"] = f"{name}{SEPARATOR}{ITEM}"
        own[f"value_{number}"] = f"4%{escaped(text_key(value)[1:])}%"
    elif operator not in (Operator.EQUAL, Operator.MISSING):
        own[f"first_{number}"], own[f"last_{number}"] = bounds(operator, value)
    return own


def selection_form(selection: FileSelection) -> SelectionForm:
    """Return the form of a selection."""
    paths = selection.paths or PathSet("")
    numbers = len(paths.patterns), len(paths.unlike), len(paths.without)
    has_paths, has_slashes = selection.paths is not None, paths.slashes is not None
    return SelectionForm(has_paths, *numbers, has_slashes, bool(selection.term), selection.is_draft)


def selection_parameters(selection: FileSelection) -> dict[str, Any]:
    """Return the parameters of a selection."""
    paths, own = selection.paths or PathSet(""), dict[str, Any]()
    prefix = f"{paths.folder}/" if paths.folder else ""
    for name, patterns in (("like", paths.patterns), ("unlike", paths.unlike)):
        own |= {f"{name}_{number}": _like(prefix, pattern) for number, pattern in enumerate(patterns)}
    for number, folder in enumerate(paths.without):
        own |= {f"without_{number}": f"{folder}/", f"without_end_{number}": f"{folder}0"}
    if paths.slashes is not None:
        own["slashes"] = prefix.count("/") + paths.slashes
    if selection.term:
        own["term"] = f"%{escaped(selection.term.casefold())}%"
        own["folded_term"] = f"%{escaped(fold(selection.term))}%"
    return own


def selection_conditions(form: SelectionForm, path: Any) -> list[sa.ColumnElement[bool]]:
    """Return the conditions of a selection on a file. `path` is the column of its path."""
    file, shape = ContentFile, list[sa.ColumnElement[bool]]()
    if form.patterns:
        shape.append(sa.or_(*(matches(path, sa.bindparam(f"like_{n}")) for n in range(form.patterns))))
    shape += [~matches(path, sa.bindparam(f"unlike_{n}")) for n in range(form.unlike)]
    for n in range(form.without):
        shape.append(sa.or_(path < sa.bindparam(f"without_{n}"), path >= sa.bindparam(f"without_end_{n}")))
    if form.has_slashes:
        slashes = sa.func.length(path) - sa.func.length(sa.func.replace(path, "/", ""))
        shape.append(slashes == sa.bindparam("slashes"))
    conditions = [expect_many(*shape)] if shape else []
    if form.has_term:
        name, title = name_of(sa.func.lower(file.path)), sa.func.coalesce(file.title_key, "")
        term: sa.BindParameter[str] = sa.bindparam("term")
        folded_term: sa.BindParameter[str] = sa.bindparam("folded_term")
        # The name of a file is expensive to compute, so its path is compared first.
        is_named = sa.and_(matches(sa.func.lower(file.path), term), matches(name, term))
        is_folded = sa.and_(matches(file.folded, folded_term), matches(name_of(file.folded), folded_term))
        conditions.append(sa.or_(matches(title, term), is_named, is_folded))
    if form.is_draft is not None:
        is_draft = sa.func.coalesce(file.is_draft, sa.false())
        conditions.append(is_draft if form.is_draft else ~is_draft)
    return conditions


def _like(prefix: str, pattern: str) -> str:
    """Return the pattern of SQL for a pattern of paths below a prefix."""
    return f"{escaped(prefix)}{'%'.join(map(escaped, _WILDCARD.split(pattern)))}"


def is_entry(project: Any) -> sa.ColumnElement[bool]:
    """Return the condition that a file is markup, or has front matter. PostgreSQL compares case."""
    text = ContentText
    has_front_matter = sa.cast(text.front_matter, sa.Text) != "null"
    return sa.or_(_IS_MARKUP, exists(text.project_id == project, text.sha == ContentFile.sha, has_front_matter))


def condition_of(form: FilterForm, number: int, path: Any = ContentFile.path) -> sa.ColumnElement[bool]:
    """Return the condition of the filter with a number on a file. `path` is the column of its path."""
    if form.is_path:
        return _path_condition(form, path, sa.bindparam(f"value_{number}"))
    same_sha = ContentField.sha == ContentFile.sha
    is_matching = sa.or_(*(exists(*values.all_conditions, same_sha) for values in field_ranges(form, number)))
    return ~is_matching if form.is_absence else is_matching


def field_ranges(form: FilterForm, number: int) -> list[ValueRange]:
    """Return the ranges of the values that a filter names. A matching file has a value of one of them."""
    key = ContentField.key
    name: sa.BindParameter[str] = sa.bindparam(f"name_{number}")
    if form.operator is Operator.MISSING:
        return [ValueRange(first_value(name))]
    own = (ContentField.project_id == PROJECT, ContentField.name == name)
    equal = [key == sa.bindparam(f"key_{number}_{position}") for position in range(form.keys)]
    if form.operator is Operator.EQUAL:
        return [ValueRange((*own, value)) for value in equal]
    if form.operator is Operator.CONTAINS:
        item = ContentField.name == sa.bindparam(f"item_{number}")
        texts = ValueRange((*own, key >= "4", key < "5"), sa.bindparam(f"value_{number}"))
        return [*(ValueRange((own[0], item, value)) for value in equal), texts]
    return [ValueRange((*own, key >= sa.bindparam(f"first_{number}"), key < sa.bindparam(f"last_{number}")))]


def first_value(name: Any) -> Conditions:
    """Return the conditions of the value by which files are sorted. It exists if the field is present and not null."""
    value = ContentField
    return value.project_id == PROJECT, value.name == name, value.number == literal_number(0)


def exists(*conditions: sa.ColumnElement[bool], within: Any = ContentFile) -> sa.ColumnElement[bool]:
    """Return whether a row exists that fulfils the conditions. The subquery is evaluated for each row of `within`."""
    return sa.select(sa.literal_column("1")).where(*conditions).correlate(within).offset(literal_number(0)).exists()


def expect_many(*conditions: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """Return conditions that most files fulfil.

    PostgreSQL multiplies its estimates of such conditions, expects one row, and would sort all files instead of reading
    the index up to the limit. It expects that half of the rows fulfil a `CASE`.
    """
    return sa.case((sa.and_(*conditions), sa.true()), else_=sa.false())


def matches(column: Any, pattern: sa.BindParameter[str]) -> sa.ColumnElement[bool]:
    """Return whether a column matches a pattern."""
    condition: sa.ColumnElement[bool] = column.like(pattern, escape=ESCAPE)
    return condition


def _path_condition(form: FilterForm, path: Any, value: sa.BindParameter[str]) -> sa.ColumnElement[bool]:
    if form.operator is Operator.MISSING:
        return sa.false() if form.is_absence else sa.true()
    comparisons: dict[Operator, sa.ColumnElement[bool]] = {
        Operator.EQUAL: path == value,
        Operator.CONTAINS: matches(path, value),
        Operator.GREATER_OR_EQUAL: path >= value,
        Operator.GREATER: path > value,
        Operator.LESS_OR_EQUAL: path <= value,
        Operator.LESS: path < value,
    }
    return comparisons[form.operator]
