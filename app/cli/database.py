"""`flask database`: whether the database is as this version needs it."""

import time

import click
import sqlalchemy as sa
from alembic.script import ScriptDirectory
from flask.cli import AppGroup

from app.core.settings import PROJECT
from app.extensions import db

LOOK_EVERY_S = 1.0

database = AppGroup("database", help="Whether the database is as this version needs it.")


@database.command("await")
@click.option("--within", default=600.0, show_default=True, help="Seconds to wait before giving up.")
def await_migrations(within: float) -> None:
    """Wait until the database has this version's migrations; a newer version's are as good."""
    needed, until_s = newest(), time.monotonic() + within
    while (found := revision()) is None or found < needed:
        if time.monotonic() > until_s:
            raise click.ClickException(f"The database is at {found or 'nothing'}; this version needs {needed}.")
        time.sleep(LOOK_EVERY_S)
    click.echo(f"The database is at {found}; this version needs {needed}.")


def newest() -> str:
    """The newest migration of this version; they are numbered in order."""
    return str(ScriptDirectory(str(PROJECT / "migrations")).get_current_head())


def revision() -> str | None:
    """The migration the database is at; None while it does not answer or has none."""
    try:
        with db.engine.connect() as connection:
            found: str | None = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    except sa.exc.SQLAlchemyError:
        return None
    return found
