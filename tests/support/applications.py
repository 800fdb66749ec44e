"""Applications with their own settings, each on an empty database."""

import dataclasses
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import sqlalchemy as sa
from flask import Flask
from flask_migrate import upgrade

from app.core.limits import PasswordLimits
from app.extensions import db
from app.factory import create_app
from app.models.base import Base
from config import Settings

MIGRATIONS = Path(__file__).parents[2] / "migrations"
FAST_HASHES = PasswordLimits(memory_kib=8, iterations=1)
"""The least costs of argon2id. A hash of the production costs takes 30 to 50 ms."""

_migrated: list[bytes] = []
"""The first migrated SQLite database of this process. The migrations take 0.3 s."""


def settings_for(home: Path, store: str, **more: object) -> Settings:
    """Return the settings of a test application on the database `store`, with the variables in `more`.

    Its password hashes are cheap.
    """
    settings = Settings.for_tests(
        home,
        DATABASE_URL=store,
        MAIL_DRIVER="file",
        MAIL_DIR=home / "mail",
        RATE_LIMIT_SCALE=100_000,
        GIT_BOT_NAME="Galley Bot",
        GIT_BOT_EMAIL="bot@galley.example.org",
        **more,
    )
    return dataclasses.replace(settings, limits=dataclasses.replace(settings.limits, password=FAST_HASHES))


@contextmanager
def another_database(store: str, folder: Path) -> Iterator[str]:
    """Create an empty database on the server of `store` and drop it at the end."""
    url = sa.make_url(store)
    if url.get_backend_name() == "sqlite":
        yield f"sqlite:///{folder}/app.db"
        return
    name = f"galley_test_{uuid.uuid4().hex[:12]}"
    engine = sa.create_engine(url.set(database="postgres"), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
        # A test database needs no durability.
        connection.execute(sa.text(f"ALTER DATABASE {name} SET synchronous_commit = off"))
    try:
        yield url.set(database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.execute(sa.text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
        engine.dispose()


@contextmanager
def application(settings: Settings, *, migrated: bool = True) -> Iterator[Flask]:
    """Build the application with these settings, by default on a migrated database."""
    app = create_app(settings)
    if migrated:
        migrate(app)
    try:
        yield app
    finally:
        with app.app_context():
            db.session.remove()
            db.engine.dispose()
        release_statements()


def migrate(app: Flask) -> None:
    """Create the tables of an application. A new SQLite database is a copy of the first one that was migrated."""
    with app.app_context():
        url = db.engine.url
        file = Path(url.database or "") if url.get_backend_name() == "sqlite" else None
        if file is None or file.exists():
            upgrade(directory=str(MIGRATIONS))
        elif _migrated:
            file.write_bytes(_migrated[0])
        else:
            upgrade(directory=str(MIGRATIONS))
            with closing(sqlite3.connect(file)) as connection:
                _migrated.append(connection.serialize())


def release_statements() -> None:
    """Empty the statement caches of the mappers.

    Each mapper caches up to 100 compiled statements with the dialect of their engine. Every application has its own
    engines, so without this call a test process stores the objects of each application.
    """
    for mapper in Base.registry.mappers:
        mapper.__dict__.get("_compiled_cache", {}).clear()
