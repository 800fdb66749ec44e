"""The queue of Procrastinate in the transaction of the caller, and a table with additional columns.

Calls are stored, retried and read with the job manager of Procrastinate. Two reports and the lock of a waiting call
read its tables, whose columns it documents as models. All calls use one task name. The arguments contain the name of
the job, so a worker can run names that it does not know.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, cast

import sqlalchemy as sa
from procrastinate.connector import BaseConnector
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager
from procrastinate.schema import SchemaManager
from psycopg.types.json import Jsonb

from app.core.jobs import Job as DeclaredJob
from app.core.jobs import JobCall, registry
from app.drivers.jobs.port import DeadJob, JobState, JobStatus, QueueCounts
from app.drivers.jobs.retry_policy import periodic_key

QUEUE, OUTBOUND_QUEUE = "galley", "galley-outbound"
TASK = "galley.run"
EXTRA_TABLE = "background_job_notes"
UNIQUE_INDEX = "procrastinate_jobs_queueing_lock_idx_v1"

WAITING, RUNNING, FAILED = Status.TODO.value, Status.DOING.value, Status.FAILED.value
STATES = {
    WAITING: JobState.WAITING,
    RUNNING: JobState.RUNNING,
    Status.SUCCEEDED.value: JobState.SUCCEEDED,
    Status.ABORTED.value: JobState.FAILED,  # only periodic jobs end with this status
}

_CREATE_NOTES = """
CREATE TABLE background_job_notes (
    job_id bigint PRIMARY KEY REFERENCES procrastinate_jobs ON DELETE CASCADE,
    failures integer NOT NULL DEFAULT 0,
    kills integer NOT NULL DEFAULT 0,
    error text,
    done bigint,
    total bigint
)
"""
# Procrastinate has no function that removes its schema.
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
        WHERE typname LIKE 'procrastinate\\_%' AND typtype IN ('c', 'e')
            AND typnamespace = current_schema()::regnamespace
    LOOP EXECUTE 'DROP TYPE ' || found.name || ' CASCADE'; END LOOP;
END $$;
"""
_NOTE = sa.text("SELECT done, total, error FROM background_job_notes WHERE job_id = :id")
_FORGET = sa.text("DELETE FROM background_job_notes WHERE job_id = :id")
_NOTE_FAILURE = sa.text("""
INSERT INTO background_job_notes (job_id, failures, error) VALUES (:id, 1, :error)
ON CONFLICT (job_id) DO UPDATE SET failures = background_job_notes.failures + 1, error = excluded.error
RETURNING failures
""")
_NOTE_KILL = sa.text("""
INSERT INTO background_job_notes (job_id, kills) VALUES (:id, 1)
ON CONFLICT (job_id) DO UPDATE SET kills = background_job_notes.kills + 1 RETURNING kills
""")
_NOTE_ERROR = sa.text("UPDATE background_job_notes SET error = :error WHERE job_id = :id")
_NOTE_PROGRESS = sa.text("""
INSERT INTO background_job_notes (job_id, done, total) VALUES (:id, :done, :total)
ON CONFLICT (job_id) DO UPDATE SET done = excluded.done, total = excluded.total
""")
_CLOCK = sa.select(sa.func.clock_timestamp())
_LOCK_WAITING = sa.text("SELECT id FROM procrastinate_jobs WHERE queueing_lock = :key AND status = 'todo' FOR SHARE")
_LOCK_CALL = sa.text("SELECT id FROM procrastinate_jobs WHERE id = :id FOR UPDATE")
_HOLD = sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtextextended(sa.bindparam("key"), 0)))
REQUEUE_KEY = f"{QUEUE}:requeue"

_DEAD = sa.text("""
SELECT j.id, j.args ->> 'name' AS name, j.args -> 'args' AS args, j.attempts, coalesce(n.error, '') AS error,
    (SELECT max(e.at) FROM procrastinate_events e WHERE e.job_id = j.id) AS died_at
FROM procrastinate_jobs j LEFT JOIN background_job_notes n ON n.job_id = j.id
WHERE j.status = 'failed' AND j.task_name = :task ORDER BY died_at DESC, j.id DESC LIMIT :limit
""")
_COUNTS = sa.text("""
SELECT count(*) FILTER (WHERE status = 'todo') AS waiting, count(*) FILTER (WHERE status = 'doing') AS running,
    count(*) FILTER (WHERE status = 'failed') AS dead,
    coalesce(extract(epoch FROM clock_timestamp() - min(coalesce(scheduled_at,
        (SELECT min(e.at) FROM procrastinate_events e WHERE e.job_id = j.id)))
        FILTER (WHERE status = 'todo' AND coalesce(scheduled_at, now()) <= now())), 0) AS lag_s,
    (SELECT extract(epoch FROM clock_timestamp() - max(last_heartbeat)) FROM procrastinate_workers) AS heartbeat_age_s,
    (SELECT count(*) FROM procrastinate_periodic_defers p JOIN procrastinate_jobs f ON f.id = p.job_id
        WHERE p.task_name = :task AND 'aborted' = CASE WHEN f.status IN ('todo', 'doing') THEN (
            SELECT o.status FROM procrastinate_jobs o
            WHERE o.args ->> 'name' = f.args ->> 'name' AND o.status IN ('succeeded', 'aborted')
            ORDER BY o.id DESC LIMIT 1
        ) ELSE f.status END) AS failed
FROM procrastinate_jobs j WHERE task_name = :task
""")


class CallerConnector(BaseConnector):
    """A connector of Procrastinate on a connection of SQLAlchemy, in the transaction of its caller.

    Errors are those of SQLAlchemy, so requests handle them as those of other statements.
    """

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def get_sync_connector(self) -> BaseConnector:
        """Return the connector, which is synchronous."""
        return self

    def execute_query(self, query: str, **arguments: object) -> None:
        # Without parameters psycopg sends several statements at once.
        self._connection.exec_driver_sql(query, {name: _parameter(value) for name, value in arguments.items()} or None)

    def execute_query_one(self, query: str, **arguments: object) -> dict[str, object]:
        """Return the row of a statement."""
        return self.execute_query_all(query, **arguments)[0]

    def execute_query_all(self, query: str, **arguments: object) -> list[dict[str, object]]:
        """Return the rows of a statement."""
        values = {name: _parameter(value) for name, value in arguments.items()}
        return [dict(row) for row in self._connection.exec_driver_sql(query, values).mappings()]


def _parameter(value: object) -> object:
    """Return a parameter of psycopg. Procrastinate leaves the conversion of JSON to its connectors."""
    if isinstance(value, dict):
        return Jsonb(value)
    if isinstance(value, list | tuple):
        return (list if isinstance(value, list) else tuple)(map(_parameter, value))
    return value


def manager_on(connection: sa.Connection) -> JobManager:
    """Return the job manager of Procrastinate on a connection."""
    return JobManager(CallerConnector(connection))


def create(connection: sa.Connection) -> None:
    """Create the schema of the installed Procrastinate and the table of notes if they do not exist."""
    if not manager_on(connection).check_connection():
        SchemaManager(CallerConnector(connection)).apply_schema()
        connection.exec_driver_sql(_CREATE_NOTES)


def drop(connection: sa.Connection) -> None:
    """Drop the schema."""
    # Without parameters psycopg sends several statements unchanged, and % is an ordinary character.
    connection.exec_driver_sql(_DROP, execution_options={"no_parameters": True})


def envelope(name: str, args: Mapping[str, object], cause: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the arguments of the task for a call."""
    return {"name": name, "args": dict(args)} | ({"cause": dict(cause)} if cause else {})


def clock(connection: sa.Connection) -> datetime:
    """Return the clock of the database."""
    now: datetime = connection.execute(_CLOCK).scalar_one()
    return now


def id_of(job: Job) -> int:
    """Return the id of a stored call."""
    return cast(int, job.id)


def add(connection: sa.Connection, call: JobCall) -> int | None:
    """Insert a call. Return None if a call with its unique key waits.

    The lock of that row prevents that a worker starts it before the commit.
    """
    if call.unique is None:
        return _insert(connection, call)
    while connection.execute(_LOCK_WAITING, {"key": call.unique}).first() is None:
        try:
            with connection.begin_nested():
                return _insert(connection, call)
        except sa.exc.IntegrityError as error:
            # Another transaction has stored a call with the key. It may have started before its row is locked.
            if UNIQUE_INDEX not in str(error.orig):
                raise
    return None


def _insert(connection: sa.Connection, call: JobCall) -> int:
    declared = registry.get(call.name)
    job = Job(
        queue=OUTBOUND_QUEUE if declared is not None and declared.outbound else QUEUE,
        task_name=TASK,
        task_kwargs=envelope(call.name, call.args, call.context),
        priority=call.priority,
        lock=call.lock,
        queueing_lock=call.unique,
        scheduled_at=clock(connection) + call.delay if call.delay else None,
    )
    return id_of(manager_on(connection).defer_job(job))


def periodic_call(job: DeclaredJob, slot: int) -> Job:
    """Return the call of a periodic job in a period."""
    return Job(
        queue=QUEUE,
        task_name=TASK,
        task_kwargs=envelope(job.name, {}) | {"timestamp": slot},
        priority=job.priority,
        lock=None,
        queueing_lock=periodic_key(job.name),
    )


def free_key(connection: sa.Connection, key: str | None) -> None:
    """Delete the waiting call with the key of a call that waits again. Both do the same work."""
    manager = manager_on(connection)
    for waiting in manager.list_jobs(queueing_lock=key, status=WAITING) if key is not None else ():
        manager.cancel_job_by_id(id_of(waiting), delete_job=True)


def retry(connection: sa.Connection, job: Job, retry_at: datetime | None = None) -> None:
    """Let a call wait again, in place of a waiting call with its key.

    Another transaction may store such a call at the same time. The update waits for its end, and is repeated.
    """
    while True:
        free_key(connection, job.queueing_lock)
        try:
            with connection.begin_nested():
                return manager_on(connection).retry_job_by_id(id_of(job), retry_at or clock(connection))
        except sa.exc.IntegrityError as error:
            if UNIQUE_INDEX not in str(error.orig):
                raise


def requeue_dead(connection: sa.Connection, job_id: int) -> bool:
    """Enqueue a dead call with all its retries."""
    for job in manager_on(connection).list_jobs(id=job_id, task=TASK, status=FAILED):
        connection.execute(_FORGET, {"id": job_id})
        retry(connection, job)
        return True
    return False


def requeue_stalled(connection: sa.Connection, job: Job, limit: int, error: str) -> bool:
    """Enqueue a call whose run ended without an outcome. Return False if this happened `limit` times: it is dead.

    The caller then ends the call. One worker does this at a time, and only if the call has not changed.
    """
    connection.execute(_HOLD, {"key": REQUEUE_KEY})
    if not is_running(connection, job):
        return True
    is_dead: bool = connection.execute(_NOTE_KILL, {"id": job.id}).scalar_one() >= limit
    if is_dead:
        connection.execute(_NOTE_ERROR, {"id": job.id, "error": error})
    else:
        retry(connection, job)
    return not is_dead


def is_running(connection: sa.Connection, job: Job) -> bool:
    """Lock a stored call. Return whether it is still in the run that `job` describes."""
    connection.execute(_LOCK_CALL, {"id": job.id})
    expected = (RUNNING, job.attempts, job.worker_id)
    return all(
        (now.status, now.attempts, now.worker_id) == expected for now in manager_on(connection).list_jobs(job.id)
    )


def note_failure(connection: sa.Connection, job_id: int, error: str) -> int:
    """Count a failed run and return the number of failures."""
    failures: int = connection.execute(_NOTE_FAILURE, {"id": job_id, "error": error}).scalar_one()
    return failures


def note_progress(connection: sa.Connection, job_id: int, done: int, total: int | None) -> None:
    """Store the progress of a call."""
    connection.execute(_NOTE_PROGRESS, {"id": job_id, "done": done, "total": total})


def read_status(connection: sa.Connection, job_id: int) -> JobStatus | None:
    """Return the status of a call."""
    for job in manager_on(connection).list_jobs(id=job_id, task=TASK):
        note = connection.execute(_NOTE, {"id": job_id}).first() or (None, None, None)
        state = STATES.get(str(job.status), JobState.DEAD)
        return JobStatus(str(job.id), str(job.task_kwargs["name"]), state, job.attempts, *note)
    return None


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
    manager, now = manager_on(connection), clock(connection)
    unfinished = [*manager.list_jobs(task=TASK, status=WAITING), *manager.list_jobs(task=TASK, status=RUNNING)]
    for job in sorted(unfinished, key=id_of):
        stored: dict[str, Any] = job.task_kwargs
        delay = max(timedelta(0), job.scheduled_at - now) if job.scheduled_at else timedelta(0)
        cause = stored.get("cause", {})
        yield JobCall(stored["name"], stored["args"], delay, job.queueing_lock, job.lock, job.priority, cause)
