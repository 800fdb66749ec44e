"""The one place that reads the time, so that tests can set it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta

_offset: ContextVar[timedelta] = ContextVar("clock_offset", default=timedelta(0))


def now() -> datetime:
    """The present moment, UTC, aware."""
    return datetime.now(UTC) + _offset.get()


@contextmanager
def moved(by: timedelta) -> Iterator[None]:
    """Move the clock for the code inside (tests)."""
    token = _offset.set(_offset.get() + by)
    try:
        yield
    finally:
        _offset.reset(token)


def iso(moment: datetime) -> str:
    """ISO-8601 UTC with milliseconds and `Z` (contract, section 0)."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="milliseconds")[:-6] + "Z"


def offset() -> timedelta:
    """How far the clock is moved, for those who must read another one (a database's)."""
    return _offset.get()
