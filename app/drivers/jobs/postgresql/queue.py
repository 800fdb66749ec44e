"""Statements on the tables of Procrastinate for SQLAlchemy connections, and a table with additional columns.

All calls use one task name. The arguments contain the name of the job, so a worker can run names that it does not know.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import timedelta
from importlib import resources
from typing import Any

import sqlalchemy as sa

from app.core.jobs import JobCall
from app.drivers.jobs.port import DeadJob, JobState, JobStatus, QueueCounts

QUEUE = "galley"
TASK = "galley.run"
EXTRA_TABLE = "background_job_notes"
CHANNEL = "procrastinate_queue_v1#galley"
UNIQUE_INDEX = "procrastinate_jobs_queueing_lock_idx_v1"
DEFER_ATTEMPTS = 5

STATES = {
    "todo": JobState.WAITING,
    "doing": JobState.RUNNING,
    "succeeded": JobState.SUCCEEDED,
    "aborted": JobState.FAILED,  # Procrastinate sets it only for requested abortions, which the service does not use.
}

_CREATE_NOTES = """
CREATE TABLE background_job_notes (
    job_id bigint PRIMARY KEY REFERENCES procrastinate_jobs ON DELETE CASCADE,
    failures integer NOT NULL DEFAULT 0,
    kills integer NOT NULL DEFAULT 0,
    error text,
    done bigint,
    total bigint
);
"""
_DROP = """
DROP TABLE IF EXISTS background_job_notes, procrastinate_events, procrastinate_periodic_defers, procrastinate_jobs,
    procrastinate_workers CASCADE;
DO $$
DECLARE found record;
BEGIN
    FOR found IN SELECT oid::regprocedure AS name FROM pg_proc
        WHERE proname LIKE 'procrastinate\\_%' AND pronamespace = current_schema()::regnamespace
    LOOP EXECUTE 'DROP FUNCTION ' || found.name || ' CASCADE'; END LOOP;
    FOR found IN SELECT oid::regtype AS name FROM pg_type
        WHERE typname LIKE 'procrastinate\\_%' AND typtype IN ('c', 'e') AND typnamespace = current_schema()::regnamespace
    LOOP EXECUTE 'DROP TYPE ' || found.name || ' CASCADE'; END LOOP;
END $$;
"""
# clock_timestamp, not now: a delay starts at the call, not at the start of the transaction.
_DEFER = sa.text("""
SELECT unnest(procrastinate_defer_jobs_v1(ARRAY[ROW(
    CAST(:queue AS varchar), CAST(:task AS varchar), CAST(:priority AS integer), CAST(:lock AS text),
    CAST(:unique AS text), CAST(:args AS jsonb),
    CASE WHEN CAST(:delay_s AS float) > 0 THEN clock_timestamp() + make_interval(secs => :delay_s) END
)]::procrastinate_job_to_defer_v1[]))
""")
# The row lock makes SKIP LOCKED of the workers skip the waiting call until the caller commits.
_HOLD_WAITING = sa.text(
    "SELECT id FROM procrastinate_jobs WHERE queueing_lock = :unique AND status = 'todo' FOR KEY SHARE"
)
_STATUS = sa.text("""
SELECT j.id, j.args ->> 'name' AS name, CAST(j.status AS text) AS status, j.attempts, n.done, n.total, n.error
FROM procrastinate_jobs j LEFT JOIN background_job_notes n ON n.job_id = j.id WHERE j.id = :id AND j.task_name = :task
""")
_DEAD = sa.text("""
SELECT j.id, j.args ->> 'name' AS name, j.args -> 'args' AS args, j.attempts, coalesce(n.error, '') AS error,
    (SELECT max(e.at) FROM procrastinate_events e WHERE e.job_id = j.id) AS died_at
FROM procrastinate_jobs j LEFT JOIN background_job_notes n ON n.job_id = j.id
WHERE j.status IN ('failed', 'cancelled') AND j.task_name = :task
ORDER BY died_at DESC, j.id DESC LIMIT :limit
""")
_REQUEUE_DEAD = sa.text("""
UPDATE procrastinate_jobs j SET status = 'todo', attempts = 0, scheduled_at = NULL, worker_id = NULL,
    queueing_lock = CASE WHEN :keyless OR EXISTS (
        SELECT 1 FROM procrastinate_jobs o WHERE o.queueing_lock = j.queueing_lock AND o.status = 'todo'
    ) THEN NULL ELSE queueing_lock END
WHERE id = :id AND status IN ('failed', 'cancelled') AND task_name = :task RETURNING id
""")
_FORGET = sa.text("DELETE FROM background_job_notes WHERE job_id = :id")
_WAKE = sa.text(
    "SELECT pg_notify(:channel, json_build_object('type', 'job_inserted', 'job_id', CAST(:id AS bigint))::text)"
)
_COUNTS = sa.text("""
SELECT count(*) FILTER (WHERE status = 'todo') AS waiting, count(*) FILTER (WHERE status = 'doing') AS running,
    count(*) FILTER (WHERE status IN ('failed', 'cancelled')) AS dead,
    count(*) FILTER (WHERE status = 'aborted') AS failed,
    coalesce(extract(epoch FROM clock_timestamp() - min(coalesce(scheduled_at,
        (SELECT min(e.at) FROM procrastinate_events e WHERE e.job_id = j.id)))
        FILTER (WHERE status = 'todo' AND coalesce(scheduled_at, now()) <= now())), 0) AS lag_s,
    (SELECT extract(epoch FROM clock_timestamp() - max(last_heartbeat)) FROM procrastinate_workers) AS heartbeat_age_s
FROM procrastinate_jobs j WHERE task_name = :task
""")
_UNFINISHED = sa.text("""
SELECT args ->> 'name' AS name, args -> 'args' AS args, args -> 'cause' AS cause, lock, queueing_lock AS unique_key, priority,
    greatest(0, coalesce(extract(epoch FROM scheduled_at - clock_timestamp()), 0)) AS left_s
FROM procrastinate_jobs WHERE status IN ('todo', 'doing') AND task_name = :task ORDER BY id
""")


def create(connection: sa.Connection) -> None:
    """Create the schema of the installed Procrastinate and the table of notes if they do not exist."""
    if connection.scalar(sa.text("SELECT to_regclass('procrastinate_jobs')")) is None:
        schema = (resources.files("procrastinate.sql") / "schema.sql").read_text(encoding="utf-8")
        _script(connection, schema + _CREATE_NOTES)


def drop(connection: sa.Connection) -> None:
    """Drop the schema."""
    _script(connection, _DROP)


def _script(connection: sa.Connection, statements: str) -> None:
    # Without parameters psycopg sends several statements unchanged, and % is an ordinary character.
    connection.exec_driver_sql(statements, execution_options={"no_parameters": True})


def envelope(name: str, args: Mapping[str, object], cause: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the arguments of the task for a call."""
    return {"name": name, "args": dict(args)} | ({"cause": dict(cause)} if cause else {})


def add(connection: sa.Connection, call: JobCall) -> int | None:
    """Insert a call. Return None if a call with its unique key waits; lock that call until the commit."""
    if call.unique is None:
        return _insert(connection, call, None)
    for _ in range(DEFER_ATTEMPTS):
        if connection.scalar(_HOLD_WAITING, {"unique": call.unique}) is not None:
            return None
        try:
            with connection.begin_nested():
                return _insert(connection, call, call.unique)
        except sa.exc.IntegrityError as error:
            if UNIQUE_INDEX not in str(error.orig):
                raise
    # Other transactions enqueue and start this key concurrently. An additional run is better than none.
    return _insert(connection, call, None)


def _insert(connection: sa.Connection, call: JobCall, unique: str | None) -> int:
    values = {
        "queue": QUEUE,
        "task": TASK,
        "priority": call.priority,
        "lock": call.lock,
        "unique": unique,
        "args": json.dumps(envelope(call.name, call.args, call.context)),
        "delay_s": call.delay.total_seconds(),
    }
    return int(connection.execute(_DEFER, values).scalar_one())


def requeue_dead(connection: sa.Connection, job_id: int) -> bool:
    """Enqueue a dead call as if it had never run, without its unique key if that is taken."""
    try:
        with connection.begin_nested():
            requeued_id = connection.scalar(_REQUEUE_DEAD, {"id": job_id, "task": TASK, "keyless": False})
    except sa.exc.IntegrityError:
        requeued_id = connection.scalar(_REQUEUE_DEAD, {"id": job_id, "task": TASK, "keyless": True})
    if requeued_id is not None:
        connection.execute(_FORGET, {"id": job_id})
        connection.execute(_WAKE, {"channel": CHANNEL, "id": job_id})
    return requeued_id is not None


def read_status(connection: sa.Connection, job_id: int) -> JobStatus | None:
    """Return the status of a call."""
    row = connection.execute(_STATUS, {"id": job_id, "task": TASK}).first()
    if row is None:
        return None
    return JobStatus(str(row.id), row.name, STATES.get(row.status, JobState.DEAD), *row[3:])


def read_dead(connection: sa.Connection, limit: int) -> list[DeadJob]:
    """Return the dead letters, newest first."""
    rows = connection.execute(_DEAD, {"task": TASK, "limit": limit})
    return [DeadJob(str(row.id), *row[1:]) for row in rows]


def read_counts(connection: sa.Connection) -> QueueCounts:
    """Return the counts of the queue."""
    row = connection.execute(_COUNTS, {"task": TASK}).one()
    heartbeat_age_s = None if row.heartbeat_age_s is None else float(row.heartbeat_age_s)
    return QueueCounts(row.waiting, row.running, row.dead, max(0.0, float(row.lag_s)), heartbeat_age_s, row.failed)


def read_unfinished(connection: sa.Connection) -> Iterator[JobCall]:
    """Yield the waiting and running calls with their remaining delays."""
    for row in connection.execute(_UNFINISHED, {"task": TASK}):
        delay = timedelta(seconds=float(row.left_s))
        yield JobCall(row.name, row.args, delay, row.unique_key, row.lock, row.priority, row.cause or {})
