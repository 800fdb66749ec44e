"""Read-only statements of the embedded queue. Each function works in the transaction of the caller."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from app.core.jobs import JobCall
from app.drivers.jobs.embedded.queue import split_context
from app.drivers.jobs.embedded.tables import CALLS, NOW, PERIODS, RUNNING, WAITING, WORKER
from app.drivers.jobs.port import DeadJob, JobState, JobStatus, QueueCounts


def read_status(connection: sa.Connection, job_id: int) -> JobStatus | None:
    """Return the status of a call."""
    c = CALLS.c
    statement = sa.select(c.id, c.name, c.state, c.attempts, c.done, c.total, c.error).where(c.id == job_id)
    row = connection.execute(statement).first()
    return None if row is None else JobStatus(str(row.id), row.name, JobState(row.state), *row[3:])


def read_dead(connection: sa.Connection, limit: int) -> list[DeadJob]:
    """Return the dead letters, newest first."""
    c = CALLS.c
    dead = sa.select(c.id, c.name, c.args, c.attempts, c.error, c.finished_at).where(c.state == JobState.DEAD)
    rows = connection.execute(dead.order_by(c.finished_at.desc(), c.id.desc()).limit(limit))
    return [
        DeadJob(
            str(row.id),
            row.name,
            split_context(row.args)[0],
            *row[3:5],
            died_at=datetime.fromtimestamp(row.finished_at, UTC),
        )
        for row in rows
    ]


def read_counts(connection: sa.Connection) -> QueueCounts:
    """Return the counts of the queue."""
    per_state = sa.select(CALLS.c.state, sa.func.count()).group_by(CALLS.c.state)
    counts: dict[str, int] = {row[0]: row[1] for row in connection.execute(per_state)}
    oldest = sa.select(sa.func.max(NOW - CALLS.c.run_at)).where(WAITING)
    return QueueCounts(
        waiting=counts.get(JobState.WAITING, 0),
        running=counts.get(JobState.RUNNING, 0),
        dead=counts.get(JobState.DEAD, 0),
        lag_s=max(0.0, connection.scalar(oldest) or 0.0),
        failed=counts.get(JobState.FAILED, 0),
        heartbeat_age_s=connection.scalar(sa.select(NOW - PERIODS.c.slot).where(PERIODS.c.name == WORKER)),
    )


def read_unfinished(connection: sa.Connection) -> Iterator[JobCall]:
    """Yield the waiting and running calls with their remaining delays."""
    c = CALLS.c
    remaining = sa.func.max(0.0, c.run_at - NOW)
    statement = sa.select(c.name, c.args, remaining, c.unique_key, c.lock_key, c.priority).where(WAITING | RUNNING)
    for name, stored, remaining_s, unique, lock, priority in connection.execute(statement.order_by(c.id)):
        args, cause = split_context(stored)
        yield JobCall(name, args, timedelta(seconds=remaining_s), unique, lock, priority, cause)
