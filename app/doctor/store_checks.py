"""Checks of the stores: database, schema, clock, connections, Redis and object store."""

import secrets
import tempfile
import time
from collections.abc import Iterator

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from app.doctor.findings import Deployment, Finding, failure, ok, warning
from app.drivers.errors import DriverError
from app.drivers.jobs.retry_policy import CONCURRENCY
from app.resources.outbound_webhook.delivery import DATABASE_RUNS

SKEW_WARNED_S, SKEW_FAILED_S = 2.0, 30.0
POOLS, SIDE_CONNECTIONS, JOB_CONNECTIONS = 2, 4, 6
"""Number of pools, side connections of a process, and connections of the job engine of a worker."""

PROBE = b"galley doctor"
_LIMITS = (("max_connections", 1), ("superuser_reserved_connections", -1))


def database(deployment: Deployment) -> Iterator[Finding]:
    """Check that the database answers, and measure the time."""
    started = time.perf_counter()
    with deployment.engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            product = f"PostgreSQL {connection.scalar(sa.text('SHOW server_version'))}"
        else:
            product = f"SQLite {connection.scalar(sa.text('SELECT sqlite_version()'))}"
    yield ok(f"{product} answers in {(time.perf_counter() - started) * 1000:.0f} ms")
    if connection.dialect.name == "sqlite" and deployment.settings.is_production:
        yield warning("SQLite stores all data in one file of one machine", "Set DATABASE_URL to a PostgreSQL database.")


def migrations(deployment: Deployment) -> Iterator[Finding]:
    """Check that the schema belongs to this version."""
    expected = ScriptDirectory(deployment.migrations).get_current_head()
    with deployment.engine.connect() as connection:
        current = MigrationContext.configure(connection).get_current_revision()
    if current == expected:
        yield ok(f"The schema is at {current}, the newest")
    elif current is None:
        yield failure("The database has no schema", "Run flask db upgrade.")
    elif str(current) > str(expected):  # revisions are zero-padded ordinals
        yield warning(
            f"The schema is at {current}, newer than this version's {expected}", "Finish the upgrade of the code."
        )
    else:
        yield failure(f"The schema is at {current}, this version needs {expected}", "Run flask db upgrade.")


def clock(deployment: Deployment) -> Iterator[Finding]:
    """Check that this machine and the database agree on the time. Both write leases and expiry times."""
    if deployment.engine.dialect.name == "sqlite":
        yield ok("The database uses this machine's clock")
        return
    with deployment.engine.connect() as connection:
        before = time.time()
        database_time = connection.scalar(sa.text("SELECT extract(epoch FROM clock_timestamp())::float"))
        skew_s = abs(float(database_time or 0) - (before + time.time()) / 2)
    judge = failure if skew_s > SKEW_FAILED_S else warning if skew_s > SKEW_WARNED_S else None
    observed = f"This machine's clock and the database's differ by {skew_s:.1f} s"
    yield judge(observed, "Run NTP (chrony, systemd-timesyncd) on both.") if judge else ok(observed)


def connections(deployment: Deployment) -> Iterator[Finding]:
    """Check that PostgreSQL accepts all connections that the processes of this node can open."""
    if deployment.engine.dialect.name == "sqlite":
        yield ok("SQLite has no limit of connections")
        return
    with deployment.engine.connect() as connection:
        maximum = sum(int(connection.scalar(sa.text(f"SHOW {name}")) or 0) * sign for name, sign in _LIMITS)
    web = deployment.settings.server.web_concurrency * (POOLS * deployment.settings.database.pool + SIDE_CONNECTIONS)
    worker = (
        POOLS * (CONCURRENCY + DATABASE_RUNS) + SIDE_CONNECTIONS + JOB_CONNECTIONS
    )  # each job uses at most one connection of each pool
    observed = f"A web node can open {web} connections and a worker {worker}; PostgreSQL accepts {maximum}"
    if web + worker > maximum:
        yield warning(observed, "Raise max_connections, or lower DATABASE_POOL or WEB_CONCURRENCY.")
    else:
        yield ok(observed)


def redis(deployment: Deployment) -> Iterator[Finding]:
    """Check that Redis answers, if it is configured."""
    answers = deployment.rates.ping()
    if answers is None:
        yield ok("Redis is not configured: each process enforces its share of the rate limits")
    elif answers:
        yield ok("Redis answers")
    else:
        yield failure(
            "Redis does not answer; each process enforces its share of the rate limits", "Check REDIS_URL and Redis."
        )


def storage(deployment: Deployment) -> Iterator[Finding]:
    """Check that an object can be written, read and deleted."""
    store, key = deployment.drivers.storage, f"doctor/{secrets.token_hex(8)}"
    try:
        with tempfile.TemporaryFile() as file:
            file.write(PROBE)
            file.seek(0)
            store.put(key, file, mimetype="application/octet-stream")
        is_equal = b"".join(store.get(key)) == PROBE
        store.delete(key)
        is_deleted = store.head(key) is None
    except DriverError as error:
        yield failure(str(error), "Check the STORAGE_* and S3_* settings, the bucket and its credentials.")
        return
    name = deployment.settings.storage.driver
    if is_equal and is_deleted:
        yield ok(f"The {name} store writes, reads and deletes")
    else:
        yield failure(
            f"The {name} store does not return the stored object", "Check the rules and the versioning of the bucket."
        )
