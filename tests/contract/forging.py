"""Forged bodies: every column of every table under its own name and in camel case, with values that can be found again."""

import datetime
import re
from collections import defaultdict
from typing import Any

import sqlalchemy as sa

from app.models.base import Base

MARK, NUMBER, TIME = "forged7", 7_654_321, datetime.datetime(2001, 2, 3, 4, 5, 6, tzinfo=datetime.UTC)
ROUNDS = 2
"""A column is sent with each of two values, so that a flag or a closed word differs from what it is once at least."""

Bait = dict[str, str]
"""By table, the key of a row that no honest request touches."""


def forged(bait: Bait, number: int) -> list[dict[str, Any]]:
    """The forged keys of a round, in objects small enough to be taken: snake case, then camel case."""
    values: dict[str, list[Any]] = defaultdict(list)
    for table in Base.metadata.sorted_tables:
        for column in table.columns:
            values[column.name] += [each for each in _values(column, bait) if each not in values[column.name]]
    snake = {name: some[number % len(some)] for name, some in values.items()}
    return [snake, {camel(name): value for name, value in snake.items() if camel(name) != name}]


def camel(name: str) -> str:
    """`org_id` as `orgId`."""
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


def is_forged(value: object, bait: Bait) -> bool:
    """Whether a stored value is one of those that were sent."""
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
