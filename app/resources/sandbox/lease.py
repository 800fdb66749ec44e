"""Leases of sandboxes, calculated with the clock of the database: the clocks of several nodes differ."""

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from app.core import clock
from app.core.limits import SandboxLimits
from app.extensions import db

_CLOCKS = {
    "sqlite": sa.literal_column("((julianday('now') - 2440587.5) * 86400.0)", sa.Float),
    "postgresql": sa.literal_column("extract(epoch FROM clock_timestamp())::float", sa.Float),
}


def now() -> datetime:
    """Return the time of the database in whole milliseconds."""
    seconds = db.session.execute(sa.select(_CLOCKS[db.engine.dialect.name])).scalar_one()
    return datetime.fromtimestamp(round(seconds, 3), UTC) + clock.offset()


def at_create(now: datetime, limits: SandboxLimits) -> datetime:
    """Return the expiry of a new sandbox (spec 8)."""
    return now + timedelta(seconds=limits.lifetime_s)


def extend_on_connect(expires_at: datetime, created_at: datetime, now: datetime, limits: SandboxLimits) -> datetime:
    """Return the expiry after a connection: that of a new sandbox, within the total lifetime."""
    return max(expires_at, min(at_create(now, limits), _last(created_at, limits)))


def extend_on_heartbeat(expires_at: datetime, created_at: datetime, now: datetime, limits: SandboxLimits) -> datetime:
    """Return the expiry after a heartbeat: 300 s later, at most 600 s from now, within the total lifetime (spec 8)."""
    expiry = expires_at + timedelta(seconds=limits.heartbeat_s)
    return max(expires_at, min(expiry, at_create(now, limits), _last(created_at, limits)))


def is_overlong(expires_at: datetime, now: datetime, limits: SandboxLimits) -> bool:
    """Return whether the expiry is later than any lease permits, so that the clock was set back."""
    return expires_at > at_create(now, limits)


def _last(created_at: datetime, limits: SandboxLimits) -> datetime:
    return created_at + timedelta(seconds=limits.total_s)
