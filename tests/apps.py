"""Applications of their own, for tests whose settings are not everybody's: each on an empty database."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from flask import Flask
from flask_migrate import upgrade

from app import create_app
from app.extensions import db
from config import Settings

MIGRATIONS = Path(__file__).parents[1] / "migrations"


@contextmanager
def another_database(store: str, folder: Path) -> Iterator[str]:
    """The URL of an empty database beside `store`, on the same server; gone at the end."""
    url = sa.make_url(store)
    if url.get_backend_name() == "sqlite":
        yield f"sqlite:///{folder}/app.db"
        return
    name = f"galley_test_{uuid.uuid4().hex[:12]}"
    engine = sa.create_engine(url.set(database="postgres"), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    try:
        yield url.set(database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.execute(sa.text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
        engine.dispose()


@contextmanager
def application(settings: Settings, *, migrated: bool = True) -> Iterator[Flask]:
    """The application with these settings, on a database with its tables unless told otherwise."""
    app = create_app(settings)
    if migrated:
        with app.app_context():
            upgrade(directory=str(MIGRATIONS))
    try:
        yield app
    finally:
        with app.app_context():
            db.session.remove()
            db.engine.dispose()
