"""Texts with placeholders such as `{{slug}}`, and the filters of Decap CMS: `{{date | date('YYYY-MM')}}`."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from app.content.field_values import moment_of
from app.content.schema.date_formats import formatted, unicode_format

# The second alternative consumes the line after an open placeholder, so that it is searched only once.
_PLACEHOLDER = re.compile(r"\{\{(?:(.*?)\}\}|.*)")
_FILTER = re.compile(r"\s*+(\w++)\s*+(?:\(([^()]*+)\))?\s*+")
_ARGUMENT = re.compile(r"'([^']*+)'|\"([^\"]*+)\"|(\d++)")


def expand(text: str, texts: Mapping[str, str], now: datetime) -> str:
    """Replace the placeholders of a text. An unknown one is replaced by the slug, an unknown filter changes nothing."""
    return _PLACEHOLDER.sub(lambda match: match[0] if match[1] is None else _value_of(match[1], texts, now), text)


def problems_of(text: str) -> Iterator[str]:
    """Yield a message for each filter of the placeholders that is unknown or has a wrong argument."""
    for match in _PLACEHOLDER.finditer(text):
        for part in (match[1] or "").split("|")[1:]:
            name, arguments = _read(part)
            if name not in _FILTERS:
                yield f"The filter “{part.strip()[:100]}” is not known. Known are {', '.join(_FILTERS)}"
            elif name == "date" and unicode_format(arguments[0] if arguments else "") is None:
                yield f"“{part.strip()[:100]}” is not a supported format of dates"


def _value_of(expression: str, texts: Mapping[str, str], now: datetime) -> str:
    name, *filters = expression.split("|")
    name = name.strip().removeprefix("fields.")
    has_default = any(_read(part)[0] in ("default", "ternary") for part in filters)
    value = texts.get(name, "" if has_default else texts["slug"])
    for part in filters:
        filter_name, arguments = _read(part)
        if filter_name == "date":
            # The time of day is known for the present day only.
            moment = now if value == now.date().isoformat() else moment_of(value) or now
            value = formatted(moment, unicode_format(arguments[0] if arguments else "") or "") or value
        elif filter_name in _FILTERS:
            value = _FILTERS[filter_name](value, arguments)
    return value


def _read(part: str) -> tuple[str, list[str]]:
    """Return the name of a filter and its arguments."""
    match = _FILTER.fullmatch(part)
    if match is None:
        return "", []
    return match[1], [first or two or three for first, two, three in _ARGUMENT.findall(match[2] or "")]


def _truncated(value: str, arguments: list[str]) -> str:
    length = int(arguments[0][:9]) if arguments and arguments[0].isdecimal() else len(value)
    return value if len(value) <= length else value[:length] + "".join(arguments[1:2])


_FILTERS: dict[str, Callable[[str, list[str]], str]] = {
    "date": lambda value, _arguments: value,
    "default": lambda value, arguments: value or "".join(arguments[:1]),
    "lower": lambda value, _arguments: value.lower(),
    "ternary": lambda value, arguments: "".join(arguments[:1] if value else arguments[1:2]),
    "truncate": _truncated,
    "upper": lambda value, _arguments: value.upper(),
}
