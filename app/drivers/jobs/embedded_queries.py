"""What the embedded engine's queue tells of itself: single calls, the dead, the unfinished, counts; changes nothing.

Each function works in the caller's transaction.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from app.core.jobs import JobCall
from app.drivers.jobs.embedded_ledger import CALLS, NOW, PERIODS, RUNNING, WAITING, WORKER, apart
from app.drivers.jobs.port import DeadJob, JobState, JobStatus, QueueCounts


def read_status(connection: sa.Connection, job_id: int) -> JobStatus | None:
    """How a call stands."""
    c = CALLS.c
    wanted = sa.select(c.id, c.name, c.state, c.attempts, c.done, c.total, c.error).where(c.id == job_id)
    row = connection.execute(wanted).first()
    return None if row is None else JobStatus(str(row.id), row.name, JobState(row.state), *row[3:])


def read_dead(connection: sa.Connection, limit: int) -> list[DeadJob]:
    """The dead, the latest first."""
    c = CALLS.c
    dead = sa.select(c.id, c.name, c.args, c.attempts, c.error, c.finished_at).where(c.state == JobState.DEAD)
    rows = connection.execute(dead.order_by(c.finished_at.desc(), c.id.desc()).limit(limit))
    return [
        DeadJob(
            str(row.id), row.name, apart(row.args)[0], *row[3:5], died_at=datetime.fromtimestamp(row.finished_at, UTC)
        )
        for row in rows
    ]


def read_counts(connection: sa.Connection) -> QueueCounts:
    """How full the queue is."""
    per_state = sa.select(CALLS.c.state, sa.func.count()).group_by(CALLS.c.state)
    found: dict[str, int] = {row[0]: row[1] for row in connection.execute(per_state)}
    oldest = sa.select(sa.func.max(NOW - CALLS.c.run_at)).where(WAITING)
    return QueueCounts(
        waiting=found.get(JobState.WAITING, 0),
        running=found.get(JobState.RUNNING, 0),
        dead=found.get(JobState.DEAD, 0),
        lag_s=max(0.0, connection.scalar(oldest) or 0.0),
        worker_seen_s=connection.scalar(sa.select(NOW - PERIODS.c.slot).where(PERIODS.c.name == WORKER)),
    )


def read_unfinished(connection: sa.Connection) -> Iterator[JobCall]:
    """What waits or runs, with the time that is left of its delay."""
    c = CALLS.c
    left = sa.func.max(0.0, c.run_at - NOW)
    wanted = sa.select(c.name, c.args, left, c.unique_key, c.lock_key, c.priority).where(WAITING | RUNNING)
    for name, kept, left_s, unique, lock, priority in connection.execute(wanted.order_by(c.id)):
        args, cause = apart(kept)
        yield JobCall(name, args, timedelta(seconds=left_s), unique, lock, priority, cause)
