"""Rates per hour and per day, counted in the database: exact on every node and across restarts."""

from collections.abc import Sequence
from datetime import timedelta
from math import ceil

import sqlalchemy as sa

from app.core.errors import TooManyRequests
from app.core.ids import new_id
from app.core.rates import HOUR, Rate
from app.extensions import current_settings, db
from app.models.base import utcnow_ms
from app.models.rate_event import RateEvent
from app.rate_limiting.counter import digest

_EVENTS = RateEvent.__table__.c
# The oldest of the newest `times` events: the rate is used up as long as it is in the window.
_OLDEST = (
    sa.select(_EVENTS.created_at)
    .where(_EVENTS.name == sa.bindparam("name"), _EVENTS.key == sa.bindparam("key"))
    .where(_EVENTS.created_at > sa.bindparam("since"))
    .order_by(_EVENTS.created_at.desc())
    .offset(sa.bindparam("newer", type_=sa.Integer))
    .limit(1)
)


def short_rates(rates: Sequence[Rate]) -> tuple[Rate, ...]:
    """Return the rates that are counted in Redis or in memory."""
    return tuple(rate for rate in rates if rate.per_s < HOUR)


def long_rates(rates: Sequence[Rate]) -> tuple[Rate, ...]:
    """Return the rates that are counted in the database."""
    return tuple(rate for rate in rates if rate.per_s >= HOUR)


def check(rates: Sequence[Rate], name: str, key: str) -> None:
    """Raise TooManyRequests if one of the rates is used up. Counts nothing."""
    wait_s = _wait_s(rates, name, digest(key))
    if wait_s:
        raise TooManyRequests(retry_after_s=wait_s)


def record(rates: Sequence[Rate], name: str, key: str) -> str:
    """Count an event in the running transaction and return its id. A rollback removes it.

    Raises:
        TooManyRequests: one of the rates is used up.
    """
    hashed = digest(key)
    _lock(name, hashed)
    wait_s = _wait_s(rates, name, hashed)
    if wait_s:
        raise TooManyRequests(retry_after_s=wait_s)
    event_id = new_id("rte")
    db.session.execute(sa.insert(RateEvent).values(id=event_id, name=name, key=hashed, created_at=utcnow_ms()))
    return event_id


def delete(event_ids: Sequence[str]) -> None:
    """Delete counted events in the running transaction."""
    db.session.execute(
        sa.delete(RateEvent).where(RateEvent.id.in_(event_ids)), execution_options={"synchronize_session": False}
    )


def _wait_s(rates: Sequence[Rate], name: str, hashed: str) -> int:
    """Return the seconds until each rate has room for one more event; 0 if they have it now."""
    now, scale = utcnow_ms(), current_settings().server.rate_limit_scale
    wait = timedelta(0)
    for rate in rates:
        window = timedelta(seconds=rate.per_s)
        parameters = {"name": name, "key": hashed, "since": now - window, "newer": rate.scaled(scale).times - 1}
        for [oldest] in db.session.execute(_OLDEST, parameters):
            wait = max(wait, oldest + window - now)
    return ceil(wait.total_seconds())


def _lock(name: str, hashed: str) -> None:
    """Serialize the transactions that count the same key. SQLite has one writer, so it needs no lock."""
    if db.session.connection().dialect.name == "postgresql":
        number = int.from_bytes(bytes.fromhex(digest(f"{name}:{hashed}")[:16]), signed=True)
        db.session.execute(sa.select(sa.func.pg_advisory_xact_lock(number)))
