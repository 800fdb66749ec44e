"""Conversion of parsed values to JSON's types, within limits."""

import json
import math
from collections.abc import Mapping
from datetime import date, datetime, time

MAX_DEPTH = 32
MAX_SIZE = 256 * 1024
_INT64 = range(-(2**63), 2**63)


class WrittenFloat(float):
    """A decimal number with its notation, for example `1.10`. Two of them are equal if their notations are."""

    def __new__(cls, text: str) -> "WrittenFloat":
        """Return the number that a text denotes."""
        number = super().__new__(cls, text)
        number.text = text
        return number

    text: str

    def __eq__(self, other: object) -> bool:
        """Compare the notations of two written numbers, else the values."""
        return self.text == other.text if isinstance(other, WrittenFloat) else float(self) == other

    __hash__ = float.__hash__

    def __reduce__(self) -> tuple[type["WrittenFloat"], tuple[str]]:
        """Return the arguments of a copy."""
        return WrittenFloat, (self.text,)


class WrittenDate(str):
    """A date or time that is new in a file. It is written without quotes in languages that have dates."""

    __slots__ = ()


class FrontMatterTooLarge(ValueError):
    """The front matter is nested too deeply or contains too many values."""


class ValueBudget:
    """Counter of values and characters with an upper bound."""

    def __init__(self) -> None:
        self.used = 0

    def consume(self, size: int) -> None:
        """Count `size` units. Raises FrontMatterTooLarge above the limit."""
        self.used += size
        if self.used > MAX_SIZE:
            raise FrontMatterTooLarge("It contains too many values")


def check_depth(depth: int) -> None:
    """Raise FrontMatterTooLarge if `depth` exceeds the limit."""
    if depth > MAX_DEPTH:
        raise FrontMatterTooLarge("It is nested too deeply")


def plain(value: object, budget: ValueBudget, depth: int = 0) -> object:
    """Return a value of JSON's types.

    Dates become ISO 8601 text. Numbers that JSON cannot represent and keys become text.

    Raises:
        FrontMatterTooLarge: a limit is exceeded.
    """
    check_depth(depth)
    if isinstance(value, Mapping):
        budget.consume(1)
        return {plain_key(key, budget): plain(inner, budget, depth + 1) for key, inner in value.items()}
    if isinstance(value, list):
        budget.consume(1)
        return [plain(inner, budget, depth + 1) for inner in value]
    scalar = plain_scalar(value)
    budget.consume(1 + (len(scalar) if isinstance(scalar, str) else 0))
    return scalar


def plain_key(key: object, budget: ValueBudget) -> str:
    """Return a key as text, in the notation of JSON values."""
    scalar = plain_scalar(key)
    text = scalar if isinstance(scalar, str) else json.dumps(scalar)
    budget.consume(1 + len(text))
    return text


def plain_scalar(value: object) -> str | int | float | bool | None:
    """Return a scalar of JSON's types."""
    if isinstance(value, str):  # most values
        return plain_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if value in _INT64 else plain_text(str(value))
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    return plain_text(str(value))


def plain_text(text: str) -> str:
    """Return text without NUL and lone surrogates, which PostgreSQL and UTF-8 refuse."""
    if text.isprintable():  # neither is printable
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "\ufffd")
