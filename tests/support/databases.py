"""Databases of tests: SQLite files, and databases of the local PostgreSQL server. Migrated databases are copied."""

import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_migrate import upgrade

from app.extensions import db

MIGRATIONS = Path(__file__).parents[2] / "migrations"
POSTGRESQL = os.environ.get("GALLEY_TEST_POSTGRESQL", "postgresql+psycopg://postgres@127.0.0.1:5432/postgres")
"""The server where test databases are created and dropped."""


@contextmanager
def postgresql_database(template: sa.URL | None = None) -> Iterator[str]:
    """Create a database on the local PostgreSQL server, empty or a copy of another one. Drop it at the end. Yield its URL."""
    url = sa.make_url(POSTGRESQL).set(database=_new_name())
    try:
        _create(url, template)
    except sa.exc.OperationalError:
        if os.environ.get("CI"):
            raise
        pytest.skip("PostgreSQL is not reachable on 127.0.0.1:5432")
    try:
        yield url.render_as_string(hide_password=False)
    finally:
        _drop(url)


@contextmanager
def another_database(store: str, folder: Path, *, is_empty: bool = False) -> Iterator[str]:
    """Return the URL of a database of the kind of `store`: a file in `folder`, or a PostgreSQL database.

    A PostgreSQL database has tables already if this process has migrated another one, unless `is_empty`.
    """
    if sa.make_url(store).get_backend_name() == "sqlite":
        yield f"sqlite:///{folder}/app.db"
        return
    with postgresql_database(None if is_empty else migrated_copies.postgresql) as url:
        yield url


class MigratedCopies:
    """The first migrated database of this process of each kind. It is copied, because migrations take up to two seconds."""

    def __init__(self) -> None:
        self.postgresql: sa.URL | None = None
        self._sqlite: bytes | None = None

    def migrate(self, app: Flask) -> None:
        """Create the tables of an application that do not exist. A new SQLite file is a copy of the first one."""
        with app.app_context():
            url = db.engine.url
            if url.get_backend_name() == "sqlite":
                self._migrate_file(Path(url.database or ""))
            else:
                self._migrate_database(url)

    def drop(self) -> None:
        """Drop the database that is copied."""
        if self.postgresql is not None:
            _drop(self.postgresql)
            self.postgresql = None

    def _migrate_file(self, file: Path) -> None:
        if file.exists():
            upgrade(directory=str(MIGRATIONS))
        elif self._sqlite is not None:
            file.write_bytes(self._sqlite)
        else:
            upgrade(directory=str(MIGRATIONS))
            with closing(sqlite3.connect(file)) as connection:
                self._sqlite = connection.serialize()

    def _migrate_database(self, url: sa.URL) -> None:
        with db.engine.connect() as connection:
            has_tables = connection.scalar(sa.text("SELECT to_regclass('alembic_version')")) is not None
        if not has_tables or self.postgresql is None:
            upgrade(directory=str(MIGRATIONS))
        if not has_tables and self.postgresql is None and _is_on_the_server(url):
            # A database with open connections cannot be copied.
            db.engine.dispose()
            copy = url.set(database=_new_name())
            _create(copy, template=url)
            self.postgresql = copy


migrated_copies = MigratedCopies()


def _is_on_the_server(url: sa.URL) -> bool:
    """Return whether a database is on the server of `POSTGRESQL`. Some tests start another server."""
    server = sa.make_url(POSTGRESQL)
    return (url.host, url.port) == (server.host, server.port)


def _new_name() -> str:
    return f"galley_test_{uuid.uuid4().hex[:12]}"


def _create(url: sa.URL, template: sa.URL | None = None) -> None:
    source = f" TEMPLATE {template.database}" if template is not None else ""
    _execute(
        f"CREATE DATABASE {url.database}{source}",
        # A test database needs no durability.
        f"ALTER DATABASE {url.database} SET synchronous_commit = off",
    )


def _drop(url: sa.URL) -> None:
    _execute(f"DROP DATABASE IF EXISTS {url.database} WITH (FORCE)")


def _execute(*statements: str) -> None:
    """Execute statements that no transaction can contain on the server."""
    engine = sa.create_engine(POSTGRESQL, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))
    engine.dispose()
