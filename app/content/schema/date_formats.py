"""Notations of dates in schema files: letters of Unicode (`yyyy-MM-dd`), or of Moment.js (`YYYY-MM-DD`)."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache

MAX_FORMAT = 60
_NAME, _NUMBER = r"[^\W\d_]++\.?", r"\d{1,2}+"
_TOKENS = {
    "yyyy": (r"\d{4}", "%Y"),
    "y": (r"\d{1,4}+", "%Y"),
    "yy": (r"\d\d", "%y"),
    "MMMM": (_NAME, "%B"),
    "MMM": (_NAME, "%b"),
    "MM": (r"\d\d", "%m"),
    "M": (_NUMBER, "%-m"),
    "dd": (r"\d\d", "%d"),
    "d": (_NUMBER, "%-d"),
    "EEEE": (_NAME, "%A"),
    "EEE": (_NAME, "%a"),
    "HH": (r"\d\d", "%H"),
    "H": (_NUMBER, "%-H"),
    "hh": (r"\d\d", "%I"),
    "h": (_NUMBER, "%-I"),
    "mm": (r"\d\d", "%M"),
    "m": (_NUMBER, "%-M"),
    "ss": (r"\d\d", "%S"),
    "s": (_NUMBER, "%-S"),
    "SSS": (r"\d{3}", "%f"),
    "a": (r"[AaPp]\.?[Mm]\.?", "%p"),
    "xxx": (r"[+-]\d\d:\d\d", "%:z"),
    "XXX": (r"(?:[+-]\d\d:\d\d|Z)", "%:z"),
    "xx": (r"[+-]\d{4}", "%z"),
    "T": (r"\d{1,16}+", "%Q"),
    "t": (r"\d{1,13}+", "%s"),
}
"""The pattern of each part of a date, and its directive: of `strftime`, or `%Q` for milliseconds."""

_DIRECTIVES = frozenset(directive for _, directive in _TOKENS.values())
_SINCE_1970 = {"%s": 1, "%Q": 1000}
_INSTANTS = frozenset(("%:z", "%z", *_SINCE_1970))
_HOURS = frozenset(("%H", "%-H", "%I", "%-I", *_SINCE_1970))
_DAY_PARTS = (frozenset(("%Y", "%y")), frozenset(("%B", "%b", "%m", "%-m")), frozenset(("%d", "%-d")))

_FROM_MOMENT = {
    "YYYY": "yyyy",
    "YY": "yy",
    "Y": "y",
    "DD": "dd",
    "D": "d",
    "dddd": "EEEE",
    "ddd": "EEE",
    "A": "a",
    "Z": "xxx",
    "ZZ": "xx",
    "x": "T",
    "X": "t",
    "L": "MM/dd/yyyy",
    "LT": "h:mm a",
}


def unicode_format(text: str) -> str | None:
    """Return a format of Moment.js with the letters of Unicode, or None if it has unknown letters."""
    result = ""
    for is_literal, part in _parts(text, "[", "]"):
        if is_literal or part == "T":
            result += "'" + part.replace("'", "''") + "'" if part[0].isalpha() or "'" in part else part
        else:
            result += _FROM_MOMENT.get(part, part)
    return result if is_format(result) else None


def _parts(text: str, opening: str, closing: str) -> Iterator[tuple[bool, str]]:
    """Yield the literal texts of a format, and its sequences of equal letters. An open quotation ends with the text."""
    position = 0
    while position < len(text):
        character, end = text[position], position + 1
        if character == opening:
            while (end := text.find(closing, end)) >= 0 and closing == text[end + 1 : end + 2] == "'":
                end += 2
            end = len(text) if end < 0 else end
            yield True, text[position + 1 : end].replace("''", "'") or opening
            position = end + 1
            continue
        is_letter = character.isascii() and character.isalpha()
        while is_letter and text[end : end + 1] == character:
            end += 1
        yield not is_letter, text[position:end]
        position = end


def is_format(text: str) -> bool:
    """Return whether a text is a format with letters of Unicode."""
    return _compiled(text) is not None


def has_format(text: str, date_format: str) -> bool:
    """Return whether a text is a date in a format."""
    compiled = _compiled(date_format)
    return compiled is not None and compiled[0].fullmatch(text) is not None


def parsed(text: str, date_format: str) -> datetime | None:
    """Return the time of a text in a format that names a day, or None. A number of seconds is a time in UTC."""
    compiled = _compiled(date_format)
    if compiled is None or not is_day(date_format) or compiled[0].fullmatch(text) is None:
        return None
    parts = compiled[1]
    directives = [part.replace("-", "").replace(":", "") for part in parts if part in _DIRECTIVES]
    if len(set(directives)) < len(directives):
        return None
    try:
        if is_number(date_format):
            return datetime.fromtimestamp(int(text) / _SINCE_1970[parts[0]], UTC)
        readable = "".join(
            part.replace("-", "").replace(":", "") if part in _DIRECTIVES else part.replace("%", "%%") for part in parts
        )
        return datetime.strptime(text, readable)  # noqa: DTZ007 - a text without an offset has no zone
    except (ValueError, OverflowError, OSError):
        return None


def is_number(date_format: str) -> bool:
    """Return whether a format is a number of seconds or milliseconds since 1970."""
    compiled = _compiled(date_format)
    return compiled is not None and len(compiled[1]) == 1 and compiled[1][0] in _SINCE_1970


def is_day(date_format: str) -> bool:
    """Return whether a format names a day, perhaps with a time."""
    compiled = _compiled(date_format)
    return compiled is not None and (
        is_number(date_format) or all(not part.isdisjoint(compiled[1]) for part in _DAY_PARTS)
    )


def has_time(date_format: str) -> bool:
    """Return whether a format has a time of the day."""
    compiled = _compiled(date_format)
    return compiled is not None and not _HOURS.isdisjoint(compiled[1])


def has_zone(date_format: str) -> bool:
    """Return whether a date in a format names an instant: by an offset, or as a number."""
    compiled = _compiled(date_format)
    return compiled is not None and not _INSTANTS.isdisjoint(compiled[1])


def formatted(moment: datetime, date_format: str) -> str | None:
    """Return a time in a format, or None if the format is unknown."""
    compiled = _compiled(date_format)
    if compiled is None:
        return None
    return "".join(_written(moment, part) if part in _DIRECTIVES else part for part in compiled[1])


def _written(moment: datetime, directive: str) -> str:
    if directive in _SINCE_1970:
        return str(int(moment.timestamp() * _SINCE_1970[directive]))
    text = moment.strftime(directive.replace("-", "").replace(":", ""))
    if directive == "%f":
        return text[:3]
    if directive == "%:z" and text:
        return f"{text[:3]}:{text[3:]}"
    return text.lstrip("0") or "0" if directive.startswith("%-") else text


@lru_cache(maxsize=256)
def _compiled(text: str) -> tuple[re.Pattern[str], tuple[str, ...]] | None:
    """Return the pattern of a format and its directives, or None for an unknown format."""
    if not 0 < len(text) <= MAX_FORMAT:
        return None
    pattern, directives = "", list[str]()
    for is_literal, part in _parts(text, "'", "'"):
        if not is_literal and part not in _TOKENS:
            return None
        own, directive = (re.escape(part), part) if is_literal else _TOKENS[part]
        pattern += own
        directives.append(directive)
    return re.compile(pattern), tuple(directives)
