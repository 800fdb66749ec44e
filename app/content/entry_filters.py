"""Filters and order of entries: their query parameters, and the keys of the values that match them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.content.field_values import (
    AFTER_DATES,
    DATES,
    END_OF_DAY,
    MAX_NAME,
    ValueKind,
    is_date,
    key_of,
    kind_of,
    number_key,
    text_key,
)

MAX_FILTERS, MAX_FIELDS, MAX_CHARACTERS = 10, 50, 500
PATH = "path"


class Operator(StrEnum):
    """The comparison of a filter. `eq` is the default."""

    EQUAL = "eq"
    GREATER_OR_EQUAL = "gte"
    GREATER = "gt"
    LESS_OR_EQUAL = "lte"
    LESS = "lt"
    CONTAINS = "contains"
    MISSING = "missing"


class InvalidFilter(ValueError):
    """A filter or an order that cannot be read. `parameter` is the query parameter."""

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(message)
        self.parameter = parameter


@dataclass(frozen=True)
class EntryFilter:
    """A condition on a field."""

    name: str
    operator: Operator
    value: str


@dataclass(frozen=True)
class EntryOrder:
    """The field by which entries are sorted. The name `path` is the path of the file.

    With `is_by_date`, values that are no date count as missing, so these entries are last. In an order by path, the
    order is then that of the file names that start with a year, and the other entries are last.
    """

    name: str = PATH
    is_descending: bool = False
    is_by_date: bool = False


def parse_filters(parameters: Mapping[str, str]) -> tuple[EntryFilter, ...]:
    """Return the filters of query parameters of the form `filter[name]` or `filter[name][operator]`.

    Raises:
        InvalidFilter: a parameter has another form, an unknown operator, or there are more than 10.
    """
    filters = tuple(_parse(name, value) for name, value in parameters.items())
    if len(filters) > MAX_FILTERS:
        raise InvalidFilter("filter", f"Use at most {MAX_FILTERS} filters")
    return filters


def parse_order(text: str) -> EntryOrder:
    """Return the order of a name with an optional leading `-`. Raises InvalidFilter."""
    name = text.removeprefix("-")
    if not _is_name(name):
        raise InvalidFilter("sort", "This is not the name of a field")
    return EntryOrder(name, text.startswith("-"))


def equal_keys(value: str) -> list[str]:
    """Return the keys of all values with this notation. For example, `true` is a boolean or a text."""
    keys = [text_key(value)]
    if value.lower() in ("true", "false"):
        keys.append(key_of(value.lower() == "true"))
    number = _number(value)
    if number is not None:
        keys.append(number_key(number))
    if is_date(value):
        keys.append(key_of(value))
    return keys


def bounds(operator: Operator, value: str) -> tuple[str, str]:
    """Return the keys between which the values of a comparison are: first included, last excluded.

    A date, a number or a text is compared with values of its type only. A date as the upper bound contains its day.
    The first character of a key is the digit of the type.
    """
    number = _number(value)
    if is_date(value):
        is_day = kind_of(value) is ValueKind.DATE
        key, end = key_of(value), key_of(value) + END_OF_DAY
        after = end if is_day else key + "\x01"
        first, last = DATES, AFTER_DATES
    else:
        key = number_key(number) if number is not None else text_key(value)
        after = key + "\x01"
        first, last = key[0], chr(ord(key[0]) + 1)
    return {
        Operator.GREATER_OR_EQUAL: (key, last),
        Operator.GREATER: (after, last),
        Operator.LESS_OR_EQUAL: (first, after),
        Operator.LESS: (first, key),
    }[operator]


def field_names(text: str) -> Sequence[str]:
    """Return the names of a comma-separated list, each once. Raises InvalidFilter."""
    names = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if len(names) > MAX_FIELDS or not all(map(_is_name, names)):
        raise InvalidFilter("fields", f"Name at most {MAX_FIELDS} fields, separated by commas")
    return names


def _parse(parameter: str, value: str) -> EntryFilter:
    inner = parameter.removeprefix("filter[").removesuffix("]")
    name, separator, operator_name = inner.partition("][")
    if not parameter.startswith("filter[") or not parameter.endswith("]") or not _is_name(name) or "[" in operator_name:
        raise InvalidFilter(parameter, "Write a filter as filter[name]=value or filter[name][operator]=value")
    if operator_name not in tuple(Operator) and separator:
        raise InvalidFilter(parameter, f"Unknown operator. Known are {', '.join(Operator)}")
    operator = Operator(operator_name) if separator else Operator.EQUAL
    if operator is Operator.MISSING and value not in ("true", "false"):
        raise InvalidFilter(parameter, "Must be true or false")
    if "\0" in value or len(value) > MAX_CHARACTERS:
        raise InvalidFilter(parameter, f"Must have at most {MAX_CHARACTERS} characters and no NUL")
    return EntryFilter(name, operator, value)


def _is_name(name: str) -> bool:
    return 0 < len(name) <= MAX_NAME and "\0" not in name and not set("[]") & set(name)


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if number - number == 0 else None
