"""Applications with their own settings, each on an empty database."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flask import Flask

from app.core.limits import OutboundLimits, PasswordLimits
from app.drivers.storage.s3 import S3Store
from app.extensions import db
from app.factory import create_app
from app.models.base import Base
from config import Settings
from tests.support.databases import migrated_copies

FAST_HASHES = PasswordLimits(memory_kib=8, iterations=1)
"""The least costs of argon2id. A hash of the production costs takes 30 to 50 ms."""
SHORT_REPLICATION = OutboundLimits(token_replication_s=1)
"""The time in which a refused new token is tried again. In production it is 5 s."""


def settings_for(home: Path, store: str, **more: object) -> Settings:
    """Return the settings of a test application on the database `store`, with the variables in `more`.

    Its password hashes are cheap, and a refused new token is final after a second.
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
    limits = dataclasses.replace(settings.limits, password=FAST_HASHES, outbound=SHORT_REPLICATION)
    return dataclasses.replace(settings, limits=limits)


@contextmanager
def application(settings: Settings, *, migrated: bool = True) -> Iterator[Flask]:
    """Build the application with these settings, by default on a migrated database."""
    app = create_app(settings)
    if migrated:
        migrated_copies.migrate(app)
    try:
        yield app
    finally:
        with app.app_context():
            db.session.remove()
            db.engine.dispose()
        storage = app.extensions["drivers"].storage
        if isinstance(storage, S3Store):
            storage.close()
        release_statements()


def release_statements() -> None:
    """Empty the statement caches of the mappers.

    Each mapper caches up to 100 compiled statements with the dialect of their engine. Every application has its own
    engines, so without this call a test process stores the objects of each application.
    """
    for mapper in Base.registry.mappers:
        mapper.__dict__.get("_compiled_cache", {}).clear()
