"""How long a sandbox may live, by the database's clock: several machines write leases, and theirs differ."""

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
    """The present moment as the database tells it, in whole milliseconds."""
    seconds = db.session.execute(sa.select(_CLOCKS[db.engine.dialect.name])).scalar_one()
    return datetime.fromtimestamp(round(seconds, 3), UTC) + clock.offset()


def at_create(now: datetime, limits: SandboxLimits) -> datetime:
    """When a sandbox that is made now expires (spec 8)."""
    return now + timedelta(seconds=limits.lifetime_s)


def connected(expires_at: datetime, created_at: datetime, now: datetime, limits: SandboxLimits) -> datetime:
    """When it expires after somebody else has connected to it: as if it was made now, within its total."""
    return max(expires_at, min(at_create(now, limits), _last(created_at, limits)))


def extended(expires_at: datetime, created_at: datetime, now: datetime, limits: SandboxLimits) -> datetime:
    """When it expires after a heartbeat: five minutes later, never past ten from now nor past its total (spec 8)."""
    wanted = expires_at + timedelta(seconds=limits.heartbeat_s)
    return max(expires_at, min(wanted, at_create(now, limits), _last(created_at, limits)))


def is_overlong(expires_at: datetime, now: datetime, limits: SandboxLimits) -> bool:
    """Whether no lease can reach that far, so that the clock must have gone back since it was given."""
    return expires_at > at_create(now, limits)


def _last(created_at: datetime, limits: SandboxLimits) -> datetime:
    return created_at + timedelta(seconds=limits.total_s)
