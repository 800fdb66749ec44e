"""Dates and sizes as text in the language and time zone of the user."""

import re
from datetime import UTC, datetime, timedelta, tzinfo

from babel import Locale
from babel.dates import (
    format_date,
    format_datetime,
    format_skeleton,
    format_time,
    format_timedelta,
    get_datetime_format,
    get_timezone,
    get_timezone_gmt,
)
from flask import g

from app.core import clock

KIB = 1024
_OFFSET = re.compile(r"([+-]\d\d):?(\d\d)")


def user_zone() -> tzinfo:
    """Return the time zone of the user."""
    return get_timezone(user_zone_name())


def _moment(value: datetime | str) -> datetime:
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def exact(value: datetime | str | None, language: str) -> str:
    """Return date and time in the time zone of the user."""
    if value is None:
        return ""
    return format_datetime(_moment(value), "medium", tzinfo=user_zone(), locale=language)


def in_zone(value: datetime | str, zone: str, language: str) -> str:
    """Return the day and the minute that the clocks of a zone show, with the offset if they show this time twice."""
    moment = _moment(value).astimezone(get_timezone(zone))
    day, time = format_date(moment, "full", locale=language), format_time(moment, "short", locale=language)
    text = str(get_datetime_format("medium", locale=language)).replace("{0}", time).replace("{1}", day)
    is_repeated = moment.replace(fold=1 - moment.fold).utcoffset() != moment.utcoffset()
    return f"{text} ({get_timezone_gmt(moment, 'long', locale=language)})" if is_repeated else text


def user_zone_name() -> str:
    """Return the name of the time zone of the user."""
    return str(g.get("console_timezone") or "UTC")


def shown_zone(zone: str, language: str) -> str:
    """Return a time zone as a reader names it: the name of a place, else the distance to Greenwich, as `GMT+02:00`."""
    offset = zone.removeprefix("UTC").upper() or "Z"
    match = _OFFSET.fullmatch("+0000" if offset == "Z" else offset)
    if match is None:
        return zone.replace("_", " ")
    return str(Locale.parse(language).zone_formats["gmt"] % f"{match[1]}:{match[2]}")


def relative(value: datetime | str | None, language: str) -> str:
    """Return the time since a moment if it is below one day, else the date."""
    if value is None:
        return ""
    moment = _moment(value)
    since = clock.now() - moment
    if timedelta(0) <= since < timedelta(days=1):
        return ago(since.total_seconds(), language)
    return format_skeleton("yMMMd", moment, tzinfo=user_zone(), locale=language)


def day(moment: datetime, language: str, *, has_time: bool) -> str:
    """Return the day of a moment. A time with an offset is in the time zone of the user, other times are as written."""
    zone = user_zone() if has_time and moment.tzinfo is not None else None
    return format_skeleton("yMMMd", moment.astimezone(zone) if zone else moment.replace(tzinfo=None), locale=language)


def ago(seconds: float, language: str) -> str:
    """Return the time that has passed, for example `5 minutes ago` in English."""
    return format_timedelta(-timedelta(seconds=seconds), add_direction=True, locale=language)


def size(bytes_: int | None) -> str:
    """Return a size in bytes, KB or MB."""
    if bytes_ is None:
        return ""
    if bytes_ < KIB:
        return f"{bytes_} B"
    if bytes_ < KIB * KIB:
        return f"{bytes_ / KIB:.0f} KB"
    return f"{bytes_ / KIB / KIB:.1f} MB"
