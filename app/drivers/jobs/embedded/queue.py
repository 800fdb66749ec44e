"""The statements that change the queue of the embedded engine.

Each function works in the transaction of the caller. Times are epoch seconds of the clock of the database.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from app.core.jobs import JobCall
from app.drivers.jobs.port import JobState
from app.drivers.jobs.retry_policy import JobTimings, too_many_crashes

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
    sqlite_autoincrement=True,  # an id is never reused, because clients may query it later
)
WAITING = CALLS.c.state == JobState.WAITING
RUNNING = CALLS.c.state == JobState.RUNNING
WAITING_TEXT = sa.text(f"state = '{JobState.WAITING}'")
sa.Index("background_jobs_unique", CALLS.c.unique_key, unique=True, sqlite_where=WAITING_TEXT)
sa.Index("background_jobs_next", CALLS.c.priority.desc(), CALLS.c.id, sqlite_where=WAITING_TEXT)
sa.Index("background_jobs_lock", CALLS.c.lock_key, CALLS.c.state)
sa.Index("background_jobs_state", CALLS.c.state, CALLS.c.lease_until)

PERIODS = sa.Table(
    "background_periods",
    METADATA,
    sa.Column("name", sa.String, primary_key=True),
    sa.Column("slot", sa.Integer, nullable=False),
)

CAUSE = "@cause"
"""Key of the context in the stored arguments. No argument has this name."""

WORKER = "worker"
"""Name of the heartbeat row in the table of periods. Names of jobs contain a dot."""


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
class ClaimedCall:
    """A call that one worker may run. Owner and attempt decide whether it may write the outcome."""

    id: int
    name: str
    args: Mapping[str, object]
    owner: str
    attempt: int
    failures: int
    context: Mapping[str, str]


def add(connection: sa.Connection, call: JobCall) -> int | None:
    """Insert a call. Return None if a call with its unique key waits.

    The statement takes the write lock of SQLite, so no worker starts the waiting call before the commit.
    """
    values = {
        "name": call.name,
        "args": {**call.args, CAUSE: dict(call.context)} if call.context else dict(call.args),
        "priority": call.priority,
        "delay_s": call.delay.total_seconds(),
        "unique_key": call.unique,
        "lock_key": call.lock,
    }
    new_id: int | None = connection.scalar(_add_statement(), values)
    return new_id


@cache
def _add_statement() -> sa.Executable:
    """Return the statement that adds a call. Its construction costs more than its execution."""
    names = ("name", "args", "priority", "unique_key", "lock_key")
    row = insert(CALLS).values(
        {name: sa.bindparam(name, type_=CALLS.c[name].type) for name in names}
        | {"state": JobState.WAITING, "run_at": NOW + sa.bindparam("delay_s", type_=sa.Float())}
    )
    statement = row.on_conflict_do_nothing(index_elements=[CALLS.c.unique_key], index_where=WAITING_TEXT)
    return statement.returning(CALLS.c.id)


def is_due(connection: sa.Connection, names: sa.ColumnElement[bool]) -> bool:
    """Return whether a call with one of the names is due."""
    return connection.scalar(sa.select(CALLS.c.id).where(WAITING, CALLS.c.run_at <= NOW, names).limit(1)) is not None


def claim(
    connection: sa.Connection, owner: str, limit: int, lease_s: float, names: sa.ColumnElement[bool]
) -> list[ClaimedCall]:
    """Claim up to `limit` due calls with one of the names by priority and age, with one call per lock."""
    due = (
        sa.select(CALLS.c.id)
        .where(WAITING, CALLS.c.run_at <= NOW, _FIRST_OF_ITS_LOCK, names)
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


def _claim(job_id: int, name: str, stored: dict[str, object], owner: str, attempt: int, failures: int) -> ClaimedCall:
    args, context = split_context(stored)
    return ClaimedCall(job_id, name, args, owner, attempt, failures, context)


def split_context(stored: dict[str, Any]) -> tuple[dict[str, object], dict[str, str]]:
    """Split the stored arguments into arguments and context."""
    return {name: value for name, value in stored.items() if name != CAUSE}, stored.get(CAUSE, {})


def renew(connection: sa.Connection, owner: str, ids: Sequence[int], lease_s: float) -> None:
    """Renew the leases of running calls."""
    mine = sa.update(CALLS).where(CALLS.c.id.in_(ids), CALLS.c.owner == owner, RUNNING)
    connection.execute(mine.values(lease_until=NOW + lease_s))


def _end(claimed: ClaimedCall) -> sa.Update:
    held = (CALLS.c.id == claimed.id) & (CALLS.c.owner == claimed.owner) & (CALLS.c.attempts == claimed.attempt)
    return sa.update(CALLS).where(held, RUNNING).values(owner=None, lease_until=None)


def succeed(connection: sa.Connection, claimed: ClaimedCall) -> bool:
    """Record a success. Return False if the lease has expired."""
    ended = _end(claimed).values(state=JobState.SUCCEEDED, finished_at=NOW, error=None)
    return connection.execute(ended).rowcount == 1


def fail(
    connection: sa.Connection,
    claimed: ClaimedCall,
    error: str,
    retry_in_s: float | None,
    final: JobState = JobState.DEAD,
) -> bool:
    """Record a failed run: retry after `retry_in_s`, or end in the state `final` if it is None.

    Return False if the lease has expired.
    """
    ended = _end(claimed).values(error=error, failures=CALLS.c.failures + 1)
    if retry_in_s is None:
        ended = ended.values(state=final, finished_at=NOW)
    else:
        ended = _waiting_again(ended, NOW + retry_in_s)
    return connection.execute(ended).rowcount == 1


def forget_failures(connection: sa.Connection, claimed: ClaimedCall) -> None:
    """Delete the earlier failed calls of a periodic job. The newest one decides."""
    earlier = (CALLS.c.state == JobState.FAILED, CALLS.c.name == claimed.name, CALLS.c.id != claimed.id)
    connection.execute(sa.delete(CALLS).where(*earlier))


def hand_back(connection: sa.Connection, owner: str) -> int:
    """Return the running calls of a stopping worker to the queue without counting a failure. Return their number."""
    statement = sa.update(CALLS).where(CALLS.c.owner == owner, RUNNING)
    return connection.execute(_waiting_again(statement, NOW)).rowcount


def expired_ids(connection: sa.Connection, spared: Sequence[int]) -> list[int]:
    """Return the running calls with an expired lease, except those that the calling worker runs."""
    expired = sa.select(CALLS.c.id).where(RUNNING, CALLS.c.lease_until < NOW, CALLS.c.id.not_in(spared))
    return list(connection.scalars(expired))


def requeue_expired(
    connection: sa.Connection, spared: Sequence[int], poison_limit: int, periodic: Collection[str] = ()
) -> tuple[int, int]:
    """Requeue or bury calls with an expired lease. Return the numbers of both. `periodic` names the periodic jobs."""
    ids = expired_ids(connection, spared)
    killed = sa.update(CALLS).values(kills=CALLS.c.kills + 1, owner=None)
    buried = killed.where(CALLS.c.id.in_(ids), CALLS.c.kills + 1 >= poison_limit)
    final = sa.case((CALLS.c.name.in_(periodic), JobState.FAILED), else_=JobState.DEAD)
    died = buried.values(state=final, finished_at=NOW, error=too_many_crashes(poison_limit))
    dead = connection.execute(died).rowcount
    # One statement per call: two calls with one unique key must not both wait with the key.
    for expired_id in ids:
        connection.execute(_waiting_again(killed.where(CALLS.c.id == expired_id, RUNNING), NOW))
    return len(ids) - dead, dead


def _waiting_again(change: sa.Update, run_at: sa.ColumnElement[float]) -> sa.Update:
    # A newer call may wait with the unique key. Then this call waits without the key.
    key = sa.case((_NO_OTHER_WAITS, CALLS.c.unique_key), else_=None)
    return change.values(state=JobState.WAITING, run_at=run_at, owner=None, lease_until=None, unique_key=key)


def requeue_dead(connection: sa.Connection, job_id: int) -> bool:
    """Enqueue a dead call as if it had never run."""
    fresh = sa.update(CALLS).where(CALLS.c.id == job_id, CALLS.c.state == JobState.DEAD)
    reset = fresh.values(attempts=0, failures=0, kills=0, error=None, finished_at=None)
    return connection.execute(_waiting_again(reset, NOW)).rowcount == 1


def clock(connection: sa.Connection) -> float:
    """Return the clock of the database."""
    return float(connection.scalar(sa.select(NOW)) or 0)


def rewind_times(connection: sa.Connection, by_s: float, lease_s: float) -> None:
    """Subtract `by_s` from all times after the clock went back, so that no call waits longer.

    Several workers may do this. A delayed call then only starts earlier.
    """
    connection.execute(sa.update(CALLS).where(WAITING, CALLS.c.run_at > NOW).values(run_at=CALLS.c.run_at - by_s))
    overlong = sa.update(CALLS).where(RUNNING, CALLS.c.lease_until > NOW + lease_s)
    connection.execute(overlong.values(lease_until=NOW + lease_s))


def enter_slot(connection: sa.Connection, name: str, slot: int) -> bool:
    """Record that a periodic job fires in `slot`. Return False if it has fired."""
    noted = insert(PERIODS).values(name=name, slot=slot)
    later = noted.on_conflict_do_update(index_elements=["name"], set_={"slot": slot}, where=PERIODS.c.slot != slot)
    return connection.execute(later.returning(PERIODS.c.slot)).first() is not None


def record_heartbeat(connection: sa.Connection) -> None:
    """Record the heartbeat of a worker."""
    enter_slot(connection, WORKER, int(clock(connection)))


def note_progress(connection: sa.Connection, job_id: int, done: int, total: int | None) -> None:
    """Store the progress of a running call."""
    connection.execute(sa.update(CALLS).where(CALLS.c.id == job_id, RUNNING).values(done=done, total=total))


def purge(connection: sa.Connection, timing: JobTimings, periodic: Collection[str] = ()) -> None:
    """Delete calls that ended before the retention, and dead letters of periodic jobs, stored by an earlier version."""
    c = CALLS.c
    failed_s = timing.dead_retention_s
    for state, age_s in (
        (JobState.SUCCEEDED, timing.retention_s),
        (JobState.FAILED, failed_s),
        (JobState.DEAD, failed_s),
    ):
        connection.execute(sa.delete(CALLS).where(c.state == state, c.finished_at < NOW - age_s))
    connection.execute(sa.delete(CALLS).where(c.state == JobState.DEAD, c.name.in_(periodic)))
