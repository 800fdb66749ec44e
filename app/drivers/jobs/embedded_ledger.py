"""The queue of the embedded engine as one SQLite table, and every change a call can go through; runs nothing.

Each function works in the caller's transaction. Moments are epoch seconds of the database's clock.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from app.core.jobs import JobCall
from app.drivers.jobs.policy import Timing, poisoned
from app.drivers.jobs.port import JobState

METADATA = sa.MetaData()
NOW: sa.ColumnElement[float] = sa.literal_column("((julianday('now') - 2440587.5) * 86400.0)", sa.Float)

CALLS = sa.Table(
    "background_jobs",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("args", sa.JSON, nullable=False),
    sa.Column("priority", sa.Integer, nullable=False),
    sa.Column("state", sa.String, nullable=False),
    sa.Column("run_at", sa.Float, nullable=False),
    sa.Column("unique_key", sa.String),
    sa.Column("lock_key", sa.String),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("failures", sa.Integer, nullable=False, server_default="0"),
    sa.Column("kills", sa.Integer, nullable=False, server_default="0"),
    sa.Column("owner", sa.String),
    sa.Column("lease_until", sa.Float),
    sa.Column("error", sa.String),
    sa.Column("done", sa.Integer),
    sa.Column("total", sa.Integer),
    sa.Column("finished_at", sa.Float),
    sqlite_autoincrement=True,  # an id that a client may still ask about is never given again
)
WAITING = CALLS.c.state == JobState.WAITING
RUNNING = CALLS.c.state == JobState.RUNNING
_waiting_text = sa.text(f"state = '{JobState.WAITING}'")
sa.Index("background_jobs_unique", CALLS.c.unique_key, unique=True, sqlite_where=_waiting_text)
sa.Index("background_jobs_next", CALLS.c.priority.desc(), CALLS.c.id, sqlite_where=_waiting_text)
sa.Index("background_jobs_lock", CALLS.c.lock_key, CALLS.c.state)
sa.Index("background_jobs_state", CALLS.c.state, CALLS.c.lease_until)

PERIODS = sa.Table(
    "background_periods",
    METADATA,
    sa.Column("name", sa.String, primary_key=True),
    sa.Column("slot", sa.Integer, nullable=False),
)

CAUSE = "@cause"
"""Stands among the kept arguments; no argument is called so."""

WORKER = "worker"
"""Stands among the periods for the workers' sign of life; names of jobs have a dot."""

_OTHER = CALLS.alias("other")
_NO_OTHER_WAITS = ~sa.exists().where(_OTHER.c.unique_key == CALLS.c.unique_key, _OTHER.c.state == JobState.WAITING)
_FIRST_OF_ITS_LOCK = sa.or_(
    CALLS.c.lock_key.is_(None),
    ~sa.exists().where(
        _OTHER.c.lock_key == CALLS.c.lock_key,
        sa.or_(
            _OTHER.c.state == JobState.RUNNING,
            (_OTHER.c.state == JobState.WAITING)
            & (
                (_OTHER.c.priority > CALLS.c.priority)
                | ((_OTHER.c.priority == CALLS.c.priority) & (_OTHER.c.id < CALLS.c.id))
            ),
        ),
    ),
)


@dataclass(frozen=True)
class Claim:
    """A call one worker may run; owner and attempt together tell whether it still may write the outcome."""

    id: int
    name: str
    args: Mapping[str, Any]
    owner: str
    attempt: int
    failures: int
    cause: Mapping[str, str]


def add(connection: sa.Connection, call: JobCall) -> int | None:
    """Insert a call; None when its unique key waits. Takes SQLite's write lock, so no worker starts that one now."""
    row = insert(CALLS).values(
        name=call.name,
        args={**call.args, CAUSE: dict(call.cause)} if call.cause else dict(call.args),
        priority=call.priority,
        state=JobState.WAITING,
        run_at=NOW + call.delay.total_seconds(),
        unique_key=call.unique,
        lock_key=call.lock,
    )
    kept = row.on_conflict_do_nothing(index_elements=[CALLS.c.unique_key], index_where=_waiting_text)
    new_id: int | None = connection.scalar(kept.returning(CALLS.c.id))
    return new_id


def is_due(connection: sa.Connection) -> bool:
    """Whether a worker would find something to claim."""
    return connection.scalar(sa.select(CALLS.c.id).where(WAITING, CALLS.c.run_at <= NOW).limit(1)) is not None


def claim(connection: sa.Connection, owner: str, limit: int, lease_s: float) -> list[Claim]:
    """Take up to `limit` due calls: the highest priority first, then the oldest, one of each lock."""
    due = (
        sa.select(CALLS.c.id)
        .where(WAITING, CALLS.c.run_at <= NOW, _FIRST_OF_ITS_LOCK)
        .order_by(CALLS.c.priority.desc(), CALLS.c.id)
        .limit(limit)
    )
    ids = connection.scalars(due).all()
    taken = (
        sa.update(CALLS)
        .where(CALLS.c.id.in_(ids))
        .values(state=JobState.RUNNING, owner=owner, attempts=CALLS.c.attempts + 1, lease_until=NOW + lease_s)
        .returning(CALLS.c.id, CALLS.c.name, CALLS.c.args, CALLS.c.owner, CALLS.c.attempts, CALLS.c.failures)
    )
    claims = [_claim(*row) for row in connection.execute(taken)] if ids else []
    return sorted(claims, key=lambda claimed: ids.index(claimed.id))


def _claim(job_id: int, name: str, kept: dict[str, Any], owner: str, attempt: int, failures: int) -> Claim:
    args, cause = apart(kept)
    return Claim(job_id, name, args, owner, attempt, failures, cause)


def apart(kept: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """A call's arguments and its cause."""
    return {name: value for name, value in kept.items() if name != CAUSE}, kept.get(CAUSE, {})


def renew(connection: sa.Connection, owner: str, ids: Sequence[int], lease_s: float) -> None:
    """Prolong the leases of calls that still run."""
    mine = sa.update(CALLS).where(CALLS.c.id.in_(ids), CALLS.c.owner == owner, RUNNING)
    connection.execute(mine.values(lease_until=NOW + lease_s))


def _end(claimed: Claim) -> sa.Update:
    held = (CALLS.c.id == claimed.id) & (CALLS.c.owner == claimed.owner) & (CALLS.c.attempts == claimed.attempt)
    return sa.update(CALLS).where(held, RUNNING).values(owner=None, lease_until=None)


def succeed(connection: sa.Connection, claimed: Claim) -> bool:
    """Note a good end; False when the lease was lost and somebody else decides about the call."""
    ended = _end(claimed).values(state=JobState.SUCCEEDED, finished_at=NOW, error=None)
    return connection.execute(ended).rowcount == 1


def fail(connection: sa.Connection, claimed: Claim, error: str, retry_in_s: float | None) -> bool:
    """Note a failed run: waiting again after `retry_in_s`, or dead without one; False when the lease was lost."""
    ended = _end(claimed).values(error=error, failures=CALLS.c.failures + 1)
    if retry_in_s is None:
        ended = ended.values(state=JobState.DEAD, finished_at=NOW)
    else:
        ended = _waiting_again(ended, NOW + retry_in_s)
    return connection.execute(ended).rowcount == 1


def hand_back(connection: sa.Connection, owner: str) -> int:
    """Give a stopping worker's running calls back without counting it against them; returns how many."""
    given = sa.update(CALLS).where(CALLS.c.owner == owner, RUNNING)
    return connection.execute(_waiting_again(given, NOW)).rowcount


def lost(connection: sa.Connection, spared: Sequence[int]) -> list[int]:
    """The running calls whose worker's lease ran out, but for those the asking worker knows to run."""
    expired = sa.select(CALLS.c.id).where(RUNNING, CALLS.c.lease_until < NOW, CALLS.c.id.not_in(spared))
    return list(connection.scalars(expired))


def take_back(connection: sa.Connection, spared: Sequence[int], poison_limit: int) -> tuple[int, int]:
    """Deal with lost calls; returns how many wait again and how many are dead now."""
    ids = lost(connection, spared)
    killed = sa.update(CALLS).values(kills=CALLS.c.kills + 1, owner=None)
    buried = killed.where(CALLS.c.id.in_(ids), CALLS.c.kills + 1 >= poison_limit)
    died = buried.values(state=JobState.DEAD, finished_at=NOW, error=poisoned(poison_limit))
    dead = connection.execute(died).rowcount
    # One at a time: two lost calls of one unique key must not both wait under it.
    for lost_id in ids:
        connection.execute(_waiting_again(killed.where(CALLS.c.id == lost_id, RUNNING), NOW))
    return len(ids) - dead, dead


def _waiting_again(change: sa.Update, run_at: sa.ColumnElement[float]) -> sa.Update:
    # A newer call may wait under the unique key meanwhile; then this one waits without it, and neither is lost.
    key = sa.case((_NO_OTHER_WAITS, CALLS.c.unique_key), else_=None)
    return change.values(state=JobState.WAITING, run_at=run_at, owner=None, lease_until=None, unique_key=key)


def revive(connection: sa.Connection, job_id: int) -> bool:
    """Make a dead call wait as if it had never run."""
    fresh = sa.update(CALLS).where(CALLS.c.id == job_id, CALLS.c.state == JobState.DEAD)
    reset = fresh.values(attempts=0, failures=0, kills=0, error=None, finished_at=None)
    return connection.execute(_waiting_again(reset, NOW)).rowcount == 1


def clock(connection: sa.Connection) -> float:
    """The database's clock."""
    return float(connection.scalar(sa.select(NOW)) or 0)


def follow_back(connection: sa.Connection, by_s: float, lease_s: float) -> None:
    """Bring moments along after the clock went back `by_s`, or what waits would wait as much longer, and what was lost too.

    May be done by several workers: that only starts a delayed call sooner.
    """
    connection.execute(sa.update(CALLS).where(WAITING, CALLS.c.run_at > NOW).values(run_at=CALLS.c.run_at - by_s))
    overlong = sa.update(CALLS).where(RUNNING, CALLS.c.lease_until > NOW + lease_s)
    connection.execute(overlong.values(lease_until=NOW + lease_s))


def enter_slot(connection: sa.Connection, name: str, slot: int) -> bool:
    """Note that a periodic job fires in `slot`; False when it already did."""
    noted = insert(PERIODS).values(name=name, slot=slot)
    later = noted.on_conflict_do_update(index_elements=["name"], set_={"slot": slot}, where=PERIODS.c.slot != slot)
    return connection.execute(later.returning(PERIODS.c.slot)).first() is not None


def beat(connection: sa.Connection) -> None:
    """Note that a worker lives, as if that were a periodic job."""
    enter_slot(connection, WORKER, int(clock(connection)))


def note_progress(connection: sa.Connection, job_id: int, done: int, total: int | None) -> None:
    """Keep what a running job reported about itself."""
    connection.execute(sa.update(CALLS).where(CALLS.c.id == job_id, RUNNING).values(done=done, total=total))


def purge(connection: sa.Connection, timing: Timing) -> None:
    """Delete what ended long ago."""
    for state, age_s in ((JobState.SUCCEEDED, timing.keep_s), (JobState.DEAD, timing.keep_dead_s)):
        connection.execute(sa.delete(CALLS).where(CALLS.c.state == state, CALLS.c.finished_at < NOW - age_s))
