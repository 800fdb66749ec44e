"""SQL conditions of the filters of entries."""

import sqlalchemy as sa

from app.content.entry_filters import PATH, EntryFilter, Operator, bounds, equal_keys
from app.content.field_values import ITEM, SEPARATOR, text_key
from app.models.content_search import ContentField
from app.models.project_content import ContentFile

_ESCAPE = "\\"


def condition_of(project_id: str, condition: EntryFilter) -> sa.ColumnElement[bool]:
    """Return the condition of one filter."""
    sha, value = ContentFile.sha, ContentField
    name, operator = condition.name, condition.operator
    if name == PATH:
        return _pathcondition_of(condition)
    own = sa.select(value.sha).where(value.project_id == project_id, value.name == name)
    if operator is Operator.MISSING:
        present = shas_with_field(project_id, name)
        return sha.not_in(present) if condition.value == "true" else sha.in_(present)
    if operator is Operator.EQUAL:
        return sha.in_(own.where(value.key.in_(equal_keys(condition.value))))
    if operator is Operator.CONTAINS:
        items = sa.select(value.sha).where(
            value.project_id == project_id,
            value.name == f"{name}{SEPARATOR}{ITEM}",
            value.key.in_(equal_keys(condition.value)),
        )
        part = value.key.like(f"4%{_escaped(text_key(condition.value)[1:])}%", escape=_ESCAPE)
        return sa.or_(sha.in_(items), sha.in_(own.where(part)))
    first, last = bounds(operator, condition.value)
    return sha.in_(own.where(value.key >= first, value.key < last))


def _pathcondition_of(condition: EntryFilter) -> sa.ColumnElement[bool]:
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


def shas_with_field(project_id: str, name: str) -> sa.Select[str]:
    """Select the blobs whose front matter has a field that is not null."""
    value = ContentField
    return sa.select(value.sha).where(value.project_id == project_id, value.name == name, value.number == 0)


def _escaped(part: str) -> str:
    for character in (_ESCAPE, "%", "_"):
        part = part.replace(character, _ESCAPE + character)
    return part
