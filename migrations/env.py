"""Environment of Alembic. It uses the engine of the application, and ignores tables of the job engine and of full-text search.

Two migrations at once wait for each other. A database that a newer version has migrated is not changed, so that an older
version can start again after a failed release.
"""

import time

import structlog
from alembic import context
from alembic.runtime.migration import MigrationContext
from alembic.util import CommandError
from flask import current_app
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from app.database.engines import disable_timeouts
from app.database.errors import error_message
from app.extensions import db
from app.models.base import Base
from app.models.content_search import is_search_table

jobs = current_app.extensions["jobs"]
log = structlog.get_logger()

LOCK = 0x6A11E7
"""Id of the advisory lock, equal in all versions."""


def include_object(item: object, name: str | None, kind: str, reflected: bool, _compared: object) -> bool:
    """Return whether autogenerate compares a table or index."""
    del item
    others = is_search_table(kind, name or "") or (kind == "table" and jobs.owns_table(name or ""))
    return not (reflected and others)


def is_newer(connection: Connection) -> bool:
    """Return whether the database has a migration of a newer version.

    Raises:
        CommandError: its last migration precedes the first one of this version.
    """
    current = MigrationContext.configure(connection).get_current_revision()
    connection.rollback()
    first = str(context.script.get_base())
    if current is not None and current < first:
        raise CommandError(
            f"The database is at {current}. This version migrates databases from {first} on. "
            "Run flask db upgrade of the last version before 1.0 first."
        )
    return current is not None and current > str(context.script.get_current_head())


def wait_for_other_migrations(connection: Connection) -> None:
    """Wait until no other migration runs, and take the lock until the connection closes.

    Poll instead of waiting for the lock: a concurrent index build waits for all older statements, also for one that
    waits for the lock.
    """
    while not connection.scalar(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": LOCK}):
        connection.commit()
        time.sleep(1)
    connection.commit()


def run() -> None:
    """Run each revision in one transaction."""
    with db.engine.connect() as connection:
        if connection.dialect.name != "postgresql":
            migrate(connection)
            return
        try:
            wait_for_other_migrations(connection)
            # A statement that waits for the lock of a table blocks all later ones, so the lock timeout stays. The
            # statement timeout is disabled: an index of a large table takes long.
            disable_timeouts(connection)
            connection.commit()
            migrate(connection)
        finally:
            # Close the connection, so that its lock and its settings end. A detached connection cannot change to
            # autocommit, which a concurrent index needs.
            connection.invalidate()


def migrate(connection: Connection) -> None:
    """Run the missing migrations, unless a newer version has migrated the database."""
    if is_newer(connection):
        log.warning("migrations.newer_database", known=context.script.get_current_head())
        return
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        include_object=include_object,
        compare_type=True,
        render_as_batch=connection.dialect.name == "sqlite",
        transaction_per_migration=True,
    )
    with context.begin_transaction():
        context.run_migrations()


try:
    run()
except OperationalError as error:  # the database is unreachable or a lock is taken; the migration is not at fault
    raise CommandError(f"The database cannot be migrated now; start again. {error_message(error)}") from error
