"""Front matter as rows of typed values whose keys sort and compare as text.

A key starts with the digit of its type, so that all values of one type are a range: 1 booleans, 2 numbers, 3 dates and
times in UTC, 4 text without case, 5 lists, 6 objects. The key of a list contains that of its first item.
"""

import hashlib
import re
import struct
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

MAX_VALUES, MAX_ITEMS, MAX_DEPTH, MAX_NAME = 300, 30, 4, 120
MAX_KEY, MAX_STRING = 200, 200
SEPARATOR, ITEM = ".", "*"
END_OF_DAY = "~"
"""Sorts after every time of a day."""

DATES, AFTER_DATES = "3", "4"
"""The bounds of the keys of dates and times."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d[^\n]{0,30}")
_OFFSET = re.compile(r" ([+-]\d\d:?\d\d|Z)$")
_IMAGE = re.compile(r"[^\n]+\.(?:png|jpe?g|gif|webp|avif|svg|bmp|tiff?|ico)(?:[?#][^\n]*)?", re.IGNORECASE)


class ValueKind(StrEnum):
    """The type of a value. Text is a string with several lines or more than 200 characters."""

    BOOLEAN = "b"
    NUMBER = "n"
    DATE = "d"
    DATETIME = "t"
    STRING = "s"
    TEXT = "x"
    IMAGE = "i"
    LIST = "l"
    OBJECT = "o"


class FieldValue(NamedTuple):
    """One value. `name` joins nested keys with `.`; `*` replaces the numbers of list items."""

    name: str
    number: int
    kind: ValueKind
    key: str


def field_values(values: Mapping[str, object]) -> list[FieldValue]:
    """Return the values of front matter that are not null, within limits."""
    rows: dict[tuple[str, int], FieldValue] = {}
    for value in _walk(values, "", 0, 0):
        rows.setdefault((value.name, value.number), value)
        if len(rows) >= MAX_VALUES:
            break
    return list(rows.values())


def value_of(values: Mapping[str, object], name: str) -> object:
    """Return the value of a field, or of a nested field with a dotted name. A missing value is None."""
    if name in values:
        return values[name]
    value: object = values
    for part in name.split(SEPARATOR):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def kind_of(value: object) -> ValueKind:
    """Return the type of a value that is not null."""
    if isinstance(value, bool):
        return ValueKind.BOOLEAN
    if isinstance(value, int | float):
        return ValueKind.NUMBER
    if isinstance(value, dict):
        return ValueKind.OBJECT
    return ValueKind.LIST if isinstance(value, list) else _kind_of_text(str(value))


def key_of(value: object) -> str:
    """Return the text by which a value is sorted and compared."""
    return _key_of(value, kind_of(value))


def _key_of(value: object, kind: ValueKind) -> str:
    if kind is ValueKind.BOOLEAN:
        return "1true" if value else "1false"
    if isinstance(value, int | float):
        return number_key(float(value))
    if kind in (ValueKind.DATE, ValueKind.DATETIME):
        return f"{DATES}{_moment(str(value))}"
    if isinstance(value, list):
        return f"5{key_of(value[0])}" if value and not isinstance(value[0], list | None) else "5"
    if kind is ValueKind.OBJECT:
        return "6"
    return text_key(str(value))


def number_key(number: float) -> str:
    """Return the key of a number: its bits in an order that equals the order of numbers."""
    bits: int = struct.unpack(">Q", struct.pack(">d", number + 0.0))[0]
    return f"2{bits ^ (0xFFFFFFFFFFFFFFFF if bits >> 63 else 1 << 63):016x}"


def text_key(text: str) -> str:
    """Return the key of a text. A long text is cut, and a digest of it keeps keys distinct."""
    folded = " ".join(text.casefold().split())
    if len(folded) <= MAX_KEY:
        return f"4{folded}"
    return f"4{folded[:MAX_KEY]}\x1f{hashlib.blake2b(folded.encode(), digest_size=8).hexdigest()}"


def text_of_key(key: str) -> str | None:
    """Return the folded text of a key, or None if the value is no text or was cut."""
    return key[1:] if key.startswith("4") and "\x1f" not in key else None


def is_date(text: str) -> bool:
    """Return whether a text is a date or a time."""
    return _kind_of_text(text) in (ValueKind.DATE, ValueKind.DATETIME)


def _walk(value: object, name: str, number: int, depth: int) -> Iterator[FieldValue]:
    if value is None or len(name) > MAX_NAME or depth > MAX_DEPTH:
        return
    if name:
        kind = kind_of(value)
        yield FieldValue(name, number, kind, _key_of(value, kind))
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _walk(inner, f"{name}{SEPARATOR}{key}" if name else str(key), number, depth + 1)
    elif isinstance(value, list):
        for position, inner in enumerate(value[:MAX_ITEMS], 1):
            yield from _walk(inner, f"{name}{SEPARATOR}{ITEM}", number * (MAX_ITEMS + 1) + position, depth + 1)


def _kind_of_text(text: str) -> ValueKind:
    if text[:4].isdigit():
        if _DATE.fullmatch(text):
            return ValueKind.DATE if moment_of(text) else ValueKind.STRING
        if _MOMENT.fullmatch(text):
            return ValueKind.DATETIME if moment_of(text) else ValueKind.STRING
    if "\n" in text or len(text) > MAX_STRING:
        return ValueKind.TEXT
    return ValueKind.IMAGE if "." in text and _IMAGE.fullmatch(text) else ValueKind.STRING


def _moment(text: str) -> str:
    moment = moment_of(text)
    if moment is None or _DATE.fullmatch(text):
        return text
    try:
        in_utc = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        in_utc = moment.replace(tzinfo=UTC)
    return in_utc.strftime("%Y-%m-%dT%H:%M:%S.%f").rjust(26, "0")


def moment_of(text: str) -> datetime | None:
    """Return the time of a text in one of the notations of dates in front matter, or None. A day is its start."""
    try:
        return datetime.fromisoformat(_OFFSET.sub(r"\1", text))
    except ValueError:
        return None
