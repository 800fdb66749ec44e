"""Alembic's environment: runs on the application's own engine, leaves the job engine's tables and full-text search alone.

Two migrations at once wait for each other. A database that a newer version has migrated is left as it is: that is how an
older version comes back after a bad release.
"""

import time

import structlog
from alembic import context
from alembic.runtime.migration import MigrationContext
from alembic.util import CommandError
from flask import current_app
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from app.core.database import take_time, told
from app.extensions import db
from app.models.base import Base
from app.models.content_search import is_of_search

jobs = current_app.extensions["jobs"]
log = structlog.get_logger()

LOCK = 0x6A11E7
"""Any number, the same for all versions."""


def include_object(found: object, name: str | None, kind: str, reflected: bool, _compared: object) -> bool:
    """Whether autogenerate looks at a table or index."""
    del found
    others = is_of_search(kind, name or "") or (kind == "table" and jobs.owns_table(name or ""))
    return not (reflected and others)


def is_newer(connection: Connection) -> bool:
    """Whether the database is at a migration that comes after all that are known here."""
    found = MigrationContext.configure(connection).get_current_revision()
    connection.rollback()
    return found is not None and found > str(context.script.get_current_head())


def take_turn(connection: Connection) -> None:
    """Wait until no other migration runs; the turn lasts as long as the connection.

    Asked again and again: an index that is built beside the traffic waits for every statement that began before it, so
    one that waits for the lock would never get it.
    """
    while not connection.scalar(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": LOCK}):
        connection.commit()
        time.sleep(1)
    connection.commit()


def run() -> None:
    """Migrate in one transaction a revision."""
    with db.engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            connection.detach()  # closed at the end, and with it goes what is set here
            take_turn(connection)
            # A statement that waits for a table's lock stops everybody behind it, so that wait stays as short as all
            # others; the work itself, an index of a large table, takes as long as it takes.
            take_time(connection)
            connection.commit()
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
except OperationalError as error:  # out of reach, or a lock that is not to be had: no fault of a migration
    raise CommandError(f"The database cannot be migrated now; start again. {told(error)}") from error
