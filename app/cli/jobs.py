"""`flask jobs`: background jobs that failed permanently, and their retry."""

import click
from flask import current_app
from flask.cli import AppGroup

from app.core.errors import NotFound
from app.drivers.jobs.port import JobEngine
from app.resources.system import job_queue

jobs = AppGroup("jobs", help="Background jobs that failed permanently.")


@jobs.command("dead")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Largest number of jobs.")
def dead(limit: int) -> None:
    """List the dead letters, newest first: id, time, runs, name and type of the last error."""
    letters = job_queue.dead_letters(engine(), limit=limit)
    for one in letters:
        click.echo(f"{one.id:>8}  {one.died_at:%Y-%m-%d %H:%M:%S}  {one.attempts:>3}  {one.name}  {one.error}")
    if not letters:
        click.echo("No job has failed permanently.")


@jobs.command("retry")
@click.argument("job_id", type=click.IntRange(1, job_queue.MAX_JOB_ID))
def retry(job_id: int) -> None:
    """Enqueue the dead letter JOB_ID again, with all its retries."""
    try:
        job_queue.retry_dead_letter(engine(), str(job_id))
    except NotFound as error:
        raise click.ClickException(f"There is no dead letter {job_id}; `flask jobs dead` lists them.") from error
    click.echo(f"Job {job_id} waits again.")


def engine() -> JobEngine:
    """Return the job engine of this application."""
    job_engine: JobEngine = current_app.extensions["jobs"]
    return job_engine
