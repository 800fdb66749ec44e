"""`flask jobs`: background jobs that failed permanently, and their retry."""

import click
from flask import current_app
from flask.cli import AppGroup

from app.drivers.jobs.port import JobEngine
from app.extensions import db

MAX_JOB_ID = 2**63 - 1
"""Largest id of a job. Both engines use signed numbers of 64 bits."""

jobs = AppGroup("jobs", help="Background jobs that failed permanently.")


@jobs.command("dead")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Largest number of jobs.")
def dead(limit: int) -> None:
    """List the dead letters, newest first: id, time, runs, name and type of the last error."""
    with db.engine.connect() as connection:
        letters = engine().dead(connection, limit)
    for one in letters:
        click.echo(f"{one.id:>8}  {one.died_at:%Y-%m-%d %H:%M:%S}  {one.attempts:>3}  {one.name}  {one.error}")
    if not letters:
        click.echo("No job has failed permanently.")


@jobs.command("retry")
@click.argument("job_id", type=click.IntRange(1, MAX_JOB_ID))
def retry(job_id: int) -> None:
    """Enqueue the dead letter JOB_ID again, with all its retries."""
    with db.engine.begin() as connection:
        revived = engine().retry_dead(connection, str(job_id))
    if not revived:
        raise click.ClickException(f"There is no dead letter {job_id}; `flask jobs dead` lists them.")
    click.echo(f"Job {job_id} waits again.")


def engine() -> JobEngine:
    """Return the job engine of this application."""
    job_engine: JobEngine = current_app.extensions["jobs"]
    return job_engine
