"""Tables of the embedded engine. Times are epoch seconds of the clock of the database."""

import sqlalchemy as sa

from app.drivers.jobs.port import JobState

METADATA = sa.MetaData()
NOW: sa.ColumnElement[float] = sa.literal_column("((julianday('now') - 2440587.5) * 86400.0)", sa.Float)

CALLS = sa.Table(
    "background_jobs",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("args", sa.JSON, nullable=False),
    sa.Column("priority", sa.Integer, nullable=False),
    sa.Column("state", sa.String, nullable=False),
    sa.Column("run_at", sa.Float, nullable=False),
    sa.Column("unique_key", sa.String),
    sa.Column("lock_key", sa.String),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("failures", sa.Integer, nullable=False, server_default="0"),
    sa.Column("kills", sa.Integer, nullable=False, server_default="0"),
    sa.Column("owner", sa.String),
    sa.Column("lease_until", sa.Float),
    sa.Column("error", sa.String),
    sa.Column("done", sa.Integer),
    sa.Column("total", sa.Integer),
    sa.Column("finished_at", sa.Float),
    sqlite_autoincrement=True,  # an id is never reused, because clients may query it later
)
WAITING = CALLS.c.state == JobState.WAITING
RUNNING = CALLS.c.state == JobState.RUNNING
WAITING_TEXT = sa.text(f"state = '{JobState.WAITING}'")
sa.Index("background_jobs_unique", CALLS.c.unique_key, unique=True, sqlite_where=WAITING_TEXT)
sa.Index("background_jobs_next", CALLS.c.priority.desc(), CALLS.c.id, sqlite_where=WAITING_TEXT)
sa.Index("background_jobs_lock", CALLS.c.lock_key, CALLS.c.state)
sa.Index("background_jobs_state", CALLS.c.state, CALLS.c.lease_until)

PERIODS = sa.Table(
    "background_periods",
    METADATA,
    sa.Column("name", sa.String, primary_key=True),
    sa.Column("slot", sa.Integer, nullable=False),
)

CAUSE = "@cause"
"""Key of the context in the stored arguments. No argument has this name."""

WORKER = "worker"
"""Name of the heartbeat row in the table of periods. Names of jobs contain a dot."""
