"""`flask jobs`: the background jobs that have failed for good, and another try for them."""

import click
from flask import current_app
from flask.cli import AppGroup

from app.drivers.jobs.port import JobEngine
from app.extensions import db

BIGGEST = 2**63 - 1
"""Both engines count their jobs in a signed number of 64 bits."""

jobs = AppGroup("jobs", help="Background jobs that have failed for good.")


@jobs.command("dead")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="How many at most.")
def dead(limit: int) -> None:
    """List the dead letters, the latest first: id, time, runs, name and the kind of the last error."""
    with db.engine.connect() as connection:
        letters = engine().dead(connection, limit)
    for one in letters:
        click.echo(f"{one.id:>8}  {one.died_at:%Y-%m-%d %H:%M:%S}  {one.attempts:>3}  {one.name}  {one.error}")
    if not letters:
        click.echo("No job has failed for good.")


@jobs.command("retry")
@click.argument("job_id", type=click.IntRange(1, BIGGEST))
def retry(job_id: int) -> None:
    """Let the dead letter JOB_ID wait again, with all its retries."""
    with db.engine.begin() as connection:
        revived = engine().retry_dead(connection, str(job_id))
    if not revived:
        raise click.ClickException(f"There is no dead letter {job_id}; `flask jobs dead` lists them.")
    click.echo(f"Job {job_id} waits again.")


def engine() -> JobEngine:
    """The job engine of this application."""
    found: JobEngine = current_app.extensions["jobs"]
    return found
