"""`flask database`: the state of the schema."""

import time

import click
import sqlalchemy as sa
from alembic.script import ScriptDirectory
from flask.cli import AppGroup

from app.extensions import db
from app.settings.groups import PROJECT

POLL_INTERVAL_S = 1.0

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
