"""The clock of the application, which tests can set."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta

_offset: ContextVar[timedelta] = ContextVar("clock_offset", default=timedelta(0))


def now() -> datetime:
    """Return the present time as an aware datetime in UTC."""
    return datetime.now(UTC) + _offset.get()


@contextmanager
def shifted(by: timedelta) -> Iterator[None]:
    """Move the clock inside the block (tests)."""
    token = _offset.set(_offset.get() + by)
    try:
        yield
    finally:
        _offset.reset(token)


def iso(moment: datetime) -> str:
    """Format a time as ISO-8601 UTC with milliseconds and `Z` (contract, section 0)."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="milliseconds")[:-6] + "Z"


def offset() -> timedelta:
    """Return the shift of the clock, for code that reads another clock, for example that of a database."""
    return _offset.get()


def format_duration(seconds: int) -> str:
    """Return a duration as text, rounded up: "40 seconds", "57 minutes", "3 hours"."""
    for unit_s, name in ((3600, "hour"), (60, "minute")):
        if seconds > 2 * unit_s:
            return f"{-(-seconds // unit_s)} {name}s"
    return f"{seconds} seconds" if seconds != 1 else "1 second"
