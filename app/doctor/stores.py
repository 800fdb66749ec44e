"""Checks of what holds data: the database and its schema, its clock and connections, Redis, the object store."""

import secrets
import tempfile
import time
from collections.abc import Iterator

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from app.doctor.findings import Finding, Patient, failure, ok, warning
from app.drivers.errors import DriverError
from app.drivers.jobs.policy import CONCURRENCY

SKEW_WARNED_S, SKEW_FAILED_S = 2.0, 30.0
POOLS, ASIDE, JOB_CONNECTIONS = 2, 4, 5
"""The pools, for writing and for reading; what a process opens beside them; what a worker's job engine takes."""

PROBE = b"galley doctor"


def database(patient: Patient) -> Iterator[Finding]:
    """Whether it answers, and how fast."""
    started = time.perf_counter()
    with patient.engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            told = f"PostgreSQL {connection.scalar(sa.text('SHOW server_version'))}"
        else:
            told = f"SQLite {connection.scalar(sa.text('SELECT sqlite_version()'))}"
    yield ok(f"{told} answers in {(time.perf_counter() - started) * 1000:.0f} ms")
    if connection.dialect.name == "sqlite" and patient.settings.is_production:
        yield warning("SQLite keeps everything in one file of one machine", "Set DATABASE_URL to a PostgreSQL.")


def migrations(patient: Patient) -> Iterator[Finding]:
    """Whether the schema is this version's."""
    wanted = ScriptDirectory(patient.migrations).get_current_head()
    with patient.engine.connect() as connection:
        found = MigrationContext.configure(connection).get_current_revision()
    if found == wanted:
        yield ok(f"The schema is at {found}, the newest")
    elif found is None:
        yield failure("The database has no schema", "Run flask db upgrade.")
    elif str(found) > str(wanted):  # revisions are zero-padded ordinals
        yield warning(
            f"The schema is at {found}, newer than this version's {wanted}", "Finish the upgrade of the code."
        )
    else:
        yield failure(f"The schema is at {found}, this version needs {wanted}", "Run flask db upgrade.")


def clock(patient: Patient) -> Iterator[Finding]:
    """Whether this machine and the database agree on the time: leases and expiries are written by either."""
    if patient.engine.dialect.name == "sqlite":
        yield ok("The database uses this machine's clock")
        return
    with patient.engine.connect() as connection:
        before = time.time()
        told = connection.scalar(sa.text("SELECT extract(epoch FROM clock_timestamp())::float"))
        skew_s = abs(float(told or 0) - (before + time.time()) / 2)
    judge = failure if skew_s > SKEW_FAILED_S else warning if skew_s > SKEW_WARNED_S else None
    seen = f"This machine's clock and the database's differ by {skew_s:.1f} s"
    yield judge(seen, "Run NTP (chrony, systemd-timesyncd) on both.") if judge else ok(seen)


def connections(patient: Patient) -> Iterator[Finding]:
    """Whether PostgreSQL lets in as many connections as this node's processes may open."""
    if patient.engine.dialect.name == "sqlite":
        yield ok("SQLite has no limit of connections")
        return
    with patient.engine.connect() as connection:
        most = sum(int(connection.scalar(sa.text(f"SHOW {name}")) or 0) * sign for name, sign in _LIMITS)
    web = patient.settings.server.web_concurrency * (POOLS * patient.settings.database.pool + ASIDE)
    worker = POOLS * CONCURRENCY + ASIDE + JOB_CONNECTIONS  # each job holds one of either pool at most
    seen = f"A web node may open {web} connections and a worker {worker}; PostgreSQL takes {most} in all"
    if web + worker > most:
        yield warning(seen, "Raise max_connections, or lower DATABASE_POOL or WEB_CONCURRENCY.")
    else:
        yield ok(seen)


_LIMITS = (("max_connections", 1), ("superuser_reserved_connections", -1))


def redis(patient: Patient) -> Iterator[Finding]:
    """Whether the shared counter answers, where there is one."""
    reached = patient.rates.reach()
    if reached is None:
        yield ok("Not configured: each process counts its share of the rate limits")
    elif reached:
        yield ok("Redis answers")
    else:
        yield failure("Redis does not answer; rate limits are counted in each process", "Look at REDIS_URL and Redis.")


def storage(patient: Patient) -> Iterator[Finding]:
    """Whether an object can be written, read and deleted."""
    store, key = patient.drivers["storage"], f"doctor/{secrets.token_hex(8)}"
    try:
        with tempfile.TemporaryFile() as file:
            file.write(PROBE)
            file.seek(0)
            store.put(key, file, mimetype="application/octet-stream")
        same = b"".join(store.get(key)) == PROBE
        store.delete(key)
        gone = store.head(key) is None
    except DriverError as error:
        yield failure(str(error), "Look at STORAGE_DRIVER's settings, the bucket and its credentials.")
        return
    name = patient.settings.storage.driver
    if same and gone:
        yield ok(f"The {name} store writes, reads and deletes")
    else:
        yield failure(f"The {name} store does not give back what it takes", "Look at the bucket's rules and versions.")
