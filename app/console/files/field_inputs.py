"""Kinds of inputs for values of the front matter: the text that an input shows, and the value of a sent text."""

import json
import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from app.console.shell.dates import user_zone, user_zone_name
from app.console.shell.translation import gettext as _
from app.content.front_matter.values import WrittenDate, WrittenFloat
from app.content.schema import date_formats
from app.http.body import check_shape

LONG = 48
"""Characters of a text that fit one line of the side panel."""
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)([Tt ])(\d\d:\d\d)(:\d\d(?:\.\d+)?)?( ?(?:[Zz]|[+-]\d\d:?\d\d)?)")
MAX_NOTATION = 100
_LOCAL = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:\d\d(?:\.\d+)?)?")


class InputKind(StrEnum):
    """The kind of an input. A form names the kind of each of its inputs, so that it is read as it was shown.

    An `object` has no input. It has only those values that have inputs.
    """

    TEXT = "text"
    LONG = "long"
    NUMBER = "number"
    CHECKBOX = "checkbox"
    DATE = "date"
    DATETIME = "datetime"
    LINES = "lines"
    RELATION = "relation"
    SELECT = "select"
    CHOICES = "choices"
    JSON = "json"
    OBJECT = "object"


DATES = (InputKind.DATE, InputKind.DATETIME)


class Marker:
    """A result of `sent_value` that is not a value."""


UNCHANGED: Final = Marker()
REMOVED: Final = Marker()
"""The input was emptied, and its kind has no empty value."""


def kind_of(value: object) -> InputKind:
    """Return the kind of input for a value of which only the value is known."""
    if isinstance(value, bool):
        return InputKind.CHECKBOX
    if isinstance(value, int | float):
        return InputKind.NUMBER
    if isinstance(value, str) or value is None:
        return InputKind.LONG if value and (len(value) > LONG or "\n" in value) else InputKind.TEXT
    return InputKind.LINES if are_lines(value) else InputKind.JSON


def are_lines(value: object) -> bool:
    """Return whether a value is a list of texts that can be shown one per line."""
    return isinstance(value, list) and all(
        isinstance(item, str) and item and item == item.strip() and "\n" not in item for item in value
    )


def is_moment(text: str) -> bool:
    """Return whether a text is a date with a time that an input of the browser can show."""
    return _MOMENT.fullmatch(text) is not None and _is_time(text[:10] + "T" + text[11:16])


def is_date(text: str) -> bool:
    """Return whether a text is a date as an input of the browser shows it."""
    return len(text) == 10 and text[4] == text[7] == "-" and _is_time(text)


def is_iso(text: object) -> bool:
    """Return whether a value is a date or a date with a time in the notation of ISO 8601, or one with a space."""
    return isinstance(text, str) and (is_date(text) or is_moment(text))


def in_format(value: object, date_format: str) -> datetime | None:
    """Return the time of a value in a format of the schema, or None. A number is a time in the user's time zone."""
    if isinstance(value, bool) or not isinstance(value, str | int) or is_iso(value):
        return None
    moment = date_formats.parsed(str(value), date_format)
    if moment is None or not date_formats.is_number(date_format):
        return moment
    return moment.astimezone(user_zone())


def notation_of(text: str) -> str:
    """Return the form of a date: equal for dates that differ in digits and in the sign of the offset only."""
    return re.sub(r"\d", "0", text).replace("+", "-")


def offset_of(value: object) -> str:
    """Return the offset of a date with a time as it is written, for example `+02:00`, or an empty text."""
    match = _MOMENT.fullmatch(value) if isinstance(value, str) else None
    return match[5].strip() if match else ""


def zone_of(value: object, notation: str) -> str:
    """Return the time zone of the time that an input shows or takes, or an empty text for a time without a zone."""
    if is_iso(value):
        return offset_of(value)
    moment = in_format(value, notation)
    if moment is not None:
        return str(moment.tzinfo or "")
    if is_iso(notation):
        has_zone = bool(offset_of(notation))
    else:
        has_zone = not date_formats.is_day(notation) or date_formats.has_zone(notation)
    return user_zone_name() if has_zone else ""


def input_text(kind: InputKind, value: object, notation: str = "") -> str:
    """Return the text that an input shows for a value. `notation` is the format of a date in another notation."""
    if kind is InputKind.CHECKBOX:
        return "true" if value is True else "false"
    if value is None:
        return ""
    if isinstance(value, WrittenFloat):
        return value.text
    if kind in DATES and (moment := in_format(value, notation)) is not None:
        local = moment.replace(tzinfo=None, microsecond=0)
        return local.date().isoformat() if kind is InputKind.DATE else local.isoformat().removesuffix(":00")
    if kind is InputKind.LINES and isinstance(value, list):
        return "\n".join(map(str, value))
    if isinstance(value, str) and kind in (InputKind.TEXT, InputKind.LONG, InputKind.RELATION, *DATES):
        match = _MOMENT.fullmatch(value) if kind is InputKind.DATETIME else None
        return f"{match[1]}T{match[3]}{match[4] or ''}" if match else value
    return json.dumps(value, ensure_ascii=False)


def sent_value(kind: InputKind, old: object, sent: Sequence[str], notation: str = "") -> object:
    """Return the value of a sent input, UNCHANGED or REMOVED. `old` is the value in the file, None if there is none.

    `notation` is that of a date which is not in the file: a date as an example, or a format of the schema.

    Raises:
        ValueError: the text is not of this kind.
    """
    if kind is InputKind.OBJECT:
        return UNCHANGED
    if kind is InputKind.CHECKBOX:
        return bool(sent) if bool(sent) != (old is True) else UNCHANGED
    if kind is InputKind.CHOICES:
        return _choices(old, [_read_json(text) for text in sent])
    if not sent:
        return UNCHANGED
    text = sent[0].replace("\r\n", "\n")
    if text == input_text(kind, old, notation):
        return UNCHANGED
    if kind in (InputKind.TEXT, InputKind.LONG):
        return text
    if kind is InputKind.RELATION:
        return text.strip() or REMOVED
    if kind is InputKind.LINES:
        return [line.strip() for line in text.split("\n") if line.strip()]
    if not text.strip():
        return REMOVED
    if kind not in DATES:
        return _parsed(kind, old, text.strip())
    date = _date(kind, old, text.strip(), notation)
    return WrittenDate(date) if old is None and isinstance(date, str) else date


def _parsed(kind: InputKind, old: object, text: str) -> object:
    try:
        value = _read_json(text)
    except ValueError as error:
        message = _("Enter a number.") if kind is InputKind.NUMBER else _("This value cannot be read")
        raise ValueError(message) from error
    if kind is not InputKind.NUMBER:
        return value
    if not _is_number(value):
        raise ValueError(_("Enter a number."))
    return WrittenFloat(text) if isinstance(value, float) or isinstance(old, WrittenFloat) else value


def _read_json(text: str) -> object:
    """Return a JSON value. Raises InvalidRequest for too many values or levels."""
    check_shape(text.encode())
    return json.loads(text, parse_constant=_refuse)


def _refuse(name: str) -> None:
    raise ValueError(name)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _date(kind: InputKind, old: object, text: str, notation: str) -> object:
    """Return a sent date in the notation of the old value, else in that of the folder or the schema."""
    match = _LOCAL.fullmatch(text)
    if kind is InputKind.DATE and not is_date(text):
        raise ValueError(_("Enter a date."))
    if kind is InputKind.DATETIME and (match is None or not _is_time(f"{match[1]}T{match[2]}")):
        raise ValueError(_("Enter a date with a time."))
    notation = notation[:MAX_NOTATION]
    if not is_iso(old) and not is_iso(notation) and date_formats.is_day(notation):
        return _in_format(old, text, notation)
    if match is None:
        return text
    before = _MOMENT.fullmatch(old) if isinstance(old, str) else None
    if before is not None:
        seconds = _with_digits(match[3] or "", before[4] or "")
        return f"{match[1]}{before[2]}{match[2]}{seconds}{before[5]}"
    example = _MOMENT.fullmatch(notation)
    moment = datetime.fromisoformat(text).replace(tzinfo=user_zone())
    return _like(example, moment, match[3] or "") if example is not None else moment.isoformat()


def _in_format(old: object, text: str, date_format: str) -> object:
    """Return a sent date in a format of the schema. An equal one keeps its spelling."""
    before, moment = in_format(old, date_format), datetime.fromisoformat(text)
    if before is not None and moment == before.replace(tzinfo=None, microsecond=0):
        return old
    zone = before.tzinfo if before is not None and before.tzinfo is not None else user_zone()
    written = date_formats.formatted(moment.replace(tzinfo=zone), date_format) or ""
    return int(written) if date_formats.is_number(date_format) and not isinstance(old, str) else written


def moment_like(example: str, moment: datetime) -> str:
    """Return a time in the notation of an example, which is a date or a date with a time in ISO 8601."""
    match = _MOMENT.fullmatch(example)
    return WrittenDate(_like(match, moment, moment.strftime(":%S")) if match is not None else moment.date().isoformat())


def _like(example: re.Match[str], moment: datetime, seconds: str) -> str:
    """Return a time in the notation of an example: with its separator, its digits of seconds and its form of offset."""
    zone: str = example[5]
    if zone.strip().upper() == "Z":
        moment = moment.astimezone(UTC)
    elif zone:
        offset = moment.strftime("%z")[:5]
        zone = zone[: len(zone) - len(zone.lstrip())] + (f"{offset[:3]}:{offset[3:]}" if ":" in zone else offset)
    local = moment.isoformat()
    return f"{local[:10]}{example[2]}{local[11:16]}{_with_digits(seconds, example[4] or '')}{zone}"


def _with_digits(sent: str, before: str) -> str:
    """Return seconds with as many digits as before. A browser shortens `:00.000` to nothing."""
    zeros = (":00." if "." in before else before and ":00").ljust(len(before), "0")
    return sent + zeros[len(sent) :]


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _choices(old: object, sent: list[object]) -> object:
    """Return the chosen values: those that were in the file in their order, then the new ones."""
    before = old if isinstance(old, list) else []
    own, texts = [json.dumps(value) for value in before], [json.dumps(value) for value in sent]  # 1 is not true
    remaining = [value for value, text in zip(before, own, strict=True) if text in texts]
    added = [value for value, text in zip(sent, texts, strict=True) if text not in own]
    return [*remaining, *added] if added or len(remaining) < len(before) else UNCHANGED
