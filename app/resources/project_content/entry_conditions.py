"""SQL conditions of the filters of entries.

Conditions on fields are subqueries that the database evaluates for each file with an index. `OFFSET 0` prevents that
PostgreSQL joins them instead, which would read all values of a field for one page.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from app.content.entry_filters import PATH, EntryFilter, Operator, bounds, equal_keys
from app.content.field_values import ITEM, SEPARATOR, text_key
from app.content.filetypes import endings_of
from app.models.content_search import ContentField, ContentText
from app.models.project_content import ContentFile

MARKUP = ("markdown", "mdx", "markdoc", "asciidoc", "restructuredtext", "org", "textile")
"""Files of these languages are entries. A file of another language with front matter is an entry too."""

Conditions = Sequence[sa.ColumnElement[bool]]

_IS_MARKUP = sa.or_(
    *(sa.func.lower(ContentFile.path).like(f"%{ending}") for language in MARKUP for ending in endings_of(language))
)
_ESCAPE = "\\"


def is_entry(project_id: str) -> sa.ColumnElement[bool]:
    """Return the condition that a file is markup, or has front matter. PostgreSQL compares case."""
    text = ContentText
    has_front_matter = sa.cast(text.front_matter, sa.Text) != "null"
    return sa.or_(_IS_MARKUP, exists(text.project_id == project_id, text.sha == ContentFile.sha, has_front_matter))


def condition_of(project_id: str, condition: EntryFilter) -> sa.ColumnElement[bool]:
    """Return the condition of one filter on a file."""
    if condition.name == PATH:
        return _path_condition(condition)
    is_matching = sa.or_(
        *(exists(*values, ContentField.sha == ContentFile.sha) for values in field_ranges(project_id, condition))
    )
    return ~is_matching if is_absence(condition) else is_matching


def is_absence(condition: EntryFilter) -> bool:
    """Return whether the filter selects files without the field."""
    return condition.operator is Operator.MISSING and condition.value == "true"


def field_ranges(project_id: str, condition: EntryFilter) -> list[Conditions]:
    """Return the conditions of the values that a filter names. One of them applies to a matching file."""
    key, name, operator = ContentField.key, condition.name, condition.operator
    if operator is Operator.MISSING:
        return [first_value(project_id, name)]
    own = (ContentField.project_id == project_id, ContentField.name == name)
    if operator is Operator.EQUAL:
        return [(*own, key.in_(equal_keys(condition.value)))]
    if operator is Operator.CONTAINS:
        items = (own[0], ContentField.name == f"{name}{SEPARATOR}{ITEM}", key.in_(equal_keys(condition.value)))
        part = key.like(f"4%{_escaped(text_key(condition.value)[1:])}%", escape=_ESCAPE)
        return [items, (*own, key >= "4", key < "5", part)]
    first, last = bounds(operator, condition.value)
    return [(*own, key >= first, key < last)]


def first_value(project_id: str, name: str) -> Conditions:
    """Return the conditions of the value by which files are sorted. It exists if the field is present and not null."""
    value = ContentField
    return value.project_id == project_id, value.name == name, value.number == 0


def exists(*conditions: sa.ColumnElement[bool], within: Any = ContentFile) -> sa.ColumnElement[bool]:
    """Return whether a row exists that fulfils the conditions. The subquery is evaluated for each row of `within`."""
    return sa.select(sa.literal_column("1")).where(*conditions).correlate(within).offset(0).exists()


def _path_condition(condition: EntryFilter) -> sa.ColumnElement[bool]:
    path, value = ContentFile.path, condition.value
    if condition.operator is Operator.MISSING:
        return sa.false() if value == "true" else sa.true()
    comparisons = {
        Operator.EQUAL: path == value,
        Operator.CONTAINS: path.like(f"%{_escaped(value)}%", escape=_ESCAPE),
        Operator.GREATER_OR_EQUAL: path >= value,
        Operator.GREATER: path > value,
        Operator.LESS_OR_EQUAL: path <= value,
        Operator.LESS: path < value,
    }
    return comparisons[condition.operator]


def _escaped(part: str) -> str:
    for character in (_ESCAPE, "%", "_"):
        part = part.replace(character, _ESCAPE + character)
    return part
