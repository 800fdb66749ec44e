"""`flask worker`: the process that runs background jobs."""

import click
from flask import current_app
from flask.cli import with_appcontext

from app.drivers.jobs.retry_policy import CONCURRENCY
from app.extensions import db
from app.worker import run_worker


@click.command("worker")
@click.option(
    "--concurrency",
    type=click.IntRange(1, 64),
    default=CONCURRENCY,
    show_default=True,
    help="Largest number of parallel jobs.",
)
@with_appcontext
def worker(concurrency: int) -> None:
    """Run background jobs until SIGTERM or SIGINT."""
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    run_worker(app, concurrency=concurrency)
    db.engine.dispose()
