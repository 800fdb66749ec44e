"""The queue of background jobs, for platform admins and operators: its counts, dead letters and their retry."""

from app.core.errors import NotFound
from app.database import transactions
from app.drivers.jobs.port import DeadJob, JobEngine, QueueCounts
from app.extensions import db

MAX_JOB_ID = 2**63 - 1
"""Largest id of a job. Both engines use signed numbers of 64 bits."""


def count_jobs(engine: JobEngine) -> QueueCounts:
    """Return the counts of the queue."""
    return engine.counts(db.session.connection())


def dead_letters(engine: JobEngine, *, limit: int) -> list[DeadJob]:
    """Return the calls that failed permanently, newest first."""
    return engine.dead(db.session.connection(), limit)


def retry_dead_letter(engine: JobEngine, job_id: str) -> None:
    """Enqueue a dead letter again, with all its retries, in a transaction of this function.

    Raises:
        NotFound: there is no dead letter with this id.
    """
    is_number = job_id.isascii() and job_id.isdecimal() and len(job_id) <= len(str(MAX_JOB_ID))
    if not is_number or int(job_id) > MAX_JOB_ID:
        raise NotFound("There is no such failed job")
    with transactions.write_transaction():
        if not engine.retry_dead(db.session.connection(), job_id):
            raise NotFound("There is no such failed job")
