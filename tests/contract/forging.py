"""Request bodies with forged fields: every column of every table in snake case and camel case, with marked values."""

import datetime
import re
from collections import defaultdict
from typing import Any

import sqlalchemy as sa

from app.models.base import Base

MARK, NUMBER, TIME = "forged7", 7_654_321, datetime.datetime(2001, 2, 3, 4, 5, 6, tzinfo=datetime.UTC)
ROUNDS = 2
"""Number of values per column. Two values ensure that a flag or an enumeration differs from the stored value once."""

Bait = dict[str, str]
"""Primary key, by table, of a row that no honest request changes."""


def forged(bait: Bait, number: int) -> list[dict[str, Any]]:
    """Return the forged fields of a round in objects below the size limit: snake case, then camel case."""
    values: dict[str, list[Any]] = defaultdict(list)
    for table in Base.metadata.sorted_tables:
        for column in table.columns:
            values[column.name] += [each for each in _values(column, bait) if each not in values[column.name]]
    snake = {name: some[number % len(some)] for name, some in values.items()}
    return [snake, {camel(name): value for name, value in snake.items() if camel(name) != name}]


def camel(name: str) -> str:
    """Convert `org_id` to `orgId`."""
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


def is_forged(value: object, bait: Bait) -> bool:
    """Return whether a stored value is a forged one."""
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=datetime.UTC) == TIME
    if isinstance(value, bytes | memoryview):
        return MARK.encode() in bytes(value)
    if isinstance(value, str) and value in bait.values():
        return True
    return MARK in str(value) or str(NUMBER) in str(value)


def _values(column: sa.Column[Any], bait: Bait) -> list[Any]:
    kind = column.type.impl if isinstance(column.type, sa.types.TypeDecorator) else column.type
    if column.foreign_keys:
        [key] = column.foreign_keys
        return [bait.get(key.column.table.name, MARK)]
    if isinstance(kind, sa.Enum):
        return [kind.enums[-1], kind.enums[0]]
    if isinstance(kind, sa.Boolean):
        return [True, False]
    if isinstance(kind, sa.Integer):
        return [NUMBER]
    if isinstance(kind, sa.DateTime | sa.Date):
        return ["2001-02-03T04:05:06.000Z"]
    if isinstance(kind, sa.JSON):
        return [{MARK: MARK}]
    return [f"{MARK}@mail.example.org"] if "email" in column.name else [MARK]
