"""Temporary SQLite and PostgreSQL databases for the tests of the job engines."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.drivers.jobs.retry_policy import JobTimings

POSTGRES_URL = os.environ.get("TEST_POSTGRES_URL", "postgresql+psycopg://postgres@127.0.0.1:5432/")
FAST = JobTimings(
    lease_s=1.0,
    heartbeat_s=0.25,
    sweep_s=0.3,
    poll_s=0.05,
    progress_s=0.05,
    backoff_base_s=0.1,
    backoff_cap_s=0.2,
    grace_s=0.5,
    poison_limit=3,
)


def sqlite_url(folder: Path) -> str:
    """Return the URL of a new SQLite file."""
    return f"sqlite:///{folder / 'jobs.db'}"


@contextmanager
def postgres_database() -> Iterator[str]:
    """Create a database and yield its URL. Without a server the test is skipped, or fails if CI is set."""
    admin = sa.create_engine(POSTGRES_URL, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    name = f"galley_jobs_{secrets.token_hex(6)}"
    try:
        with admin.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
    except sa.exc.OperationalError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"PostgreSQL cannot be reached: {error.orig}")
    try:
        yield admin.url.set(database=name).render_as_string(hide_password=False)
    finally:
        with admin.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
