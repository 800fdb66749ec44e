"""Commands that operate the service: settings, schema, jobs, keys and the worker process."""

import time

import click
import sqlalchemy as sa
import structlog
from alembic.script import ScriptDirectory
from flask import current_app
from flask.cli import AppGroup, with_appcontext

from app.core.errors import NotFound
from app.drivers.jobs.port import JobEngine
from app.drivers.jobs.retry_policy import CONCURRENCY
from app.extensions import db, keyring
from app.resources.auth.passkeys.service import count_unusable
from app.resources.auth.two_factor.service import SECRETS as FACTOR_SECRETS
from app.resources.git_provider.token_encryption import SECRETS, rekey
from app.resources.outbound_webhook.signing import SECRETS as WEBHOOK_SECRETS
from app.resources.review_link.service import SECRETS as LINK_SECRETS
from app.resources.system import job_queue
from app.settings.groups import PROJECT
from app.worker import run_worker

log = structlog.get_logger(__name__)
config = AppGroup("config", help="Inspect the settings.")
POLL_INTERVAL_S = 1.0


@config.command("check")
def check() -> None:
    """Print the loaded settings, secrets masked."""
    shown = current_app.config["SETTINGS"].masked()
    width = max(map(len, shown))
    for name, value in shown.items():
        click.echo(f"{name:<{width}}  {value}")


database = AppGroup("database", help="State of the schema.")


@database.command("await")
@click.option("--within", default=600.0, show_default=True, help="Seconds to wait.")
def wait_for_migrations(within: float) -> None:
    """Wait until the database has the migrations of this version or of a newer one."""
    required, until_s = newest(), time.monotonic() + within
    while (current := revision()) is None or current < required:
        if time.monotonic() > until_s:
            raise click.ClickException(
                f"The database is at {current or 'nothing'}; this version requires {required}. Run flask db upgrade."
            )
        time.sleep(POLL_INTERVAL_S)
    click.echo(f"The database is at {current}; this version requires {required}.")


def newest() -> str:
    """Return the newest migration of this version."""
    return str(ScriptDirectory(str(PROJECT / "migrations")).get_current_head())


def revision() -> str | None:
    """Return the migration of the database, or None if it does not answer or has none."""
    try:
        with db.engine.connect() as connection:
            current: str | None = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    except sa.exc.SQLAlchemyError:
        return None
    return current


jobs = AppGroup("jobs", help="Background jobs that failed permanently.")


@jobs.command("dead")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Largest number of jobs.")
def dead(limit: int) -> None:
    """List the dead letters, newest first: id, time, runs, name and type of the last error."""
    letters = job_queue.dead_letters(engine(), limit=limit)
    for letter in letters:
        click.echo(
            f"{letter.id:>8}  {letter.died_at:%Y-%m-%d %H:%M:%S}  {letter.attempts:>3}  {letter.name}  {letter.error}"
        )
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


keys = AppGroup("keys", help="Encryption keys.")


@keys.command("rotate")
def rotate() -> None:
    """Encrypt every stored secret with the first key of ENCRYPTION_KEYS.

    It can be stopped, repeated and run under load.
    """
    result = rekey(keyring, (*SECRETS, WEBHOOK_SECRETS, LINK_SECRETS, FACTOR_SECRETS))
    click.echo(f"{result.rows} rows were encrypted with the first key.")
    if result.unreadable:
        raise click.ClickException(
            f"These rows cannot be decrypted with the configured keys: {', '.join(result.unreadable)}"
        )


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
    _report_unusable_passkeys()
    run_worker(app, concurrency=concurrency)
    db.engine.dispose()


def _report_unusable_passkeys() -> None:
    """Log how many passkeys a change of the domain has ended. A worker also starts while the database is away."""
    rp_id = current_app.config["SETTINGS"].server.passkey_rp_id
    try:
        with db.engine.connect() as connection:
            unusable = count_unusable(connection, rp_id)
    except sa.exc.DBAPIError as error:
        log.info("passkey.check_failed", error=type(error).__name__)
        return
    if unusable:
        log.warning("passkey.domain_changed", rp_id=rp_id, unusable=unusable)
