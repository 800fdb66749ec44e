"""Statements of the metrics: the queue, indexes, sandboxes and AI tokens."""

from dataclasses import dataclass
from typing import Protocol

import sqlalchemy as sa

from app.extensions import db
from app.models.ai_usage import AiBudget
from app.models.base import utcnow_ms
from app.models.project_content import ContentIndex, IndexStatus
from app.models.sandbox import ACTIVE_STATES, Sandbox

PENDING_STATES = (IndexStatus.QUEUED, IndexStatus.INDEXING, IndexStatus.STALE)
_SANDBOXES = sa.select(Sandbox.state, sa.func.count()).where(Sandbox.state.in_(ACTIVE_STATES)).group_by(Sandbox.state)


class QueueState(Protocol):
    """The state of a job queue; see `app.drivers.jobs.port.QueueCounts`."""

    @property
    def waiting(self) -> int:
        """The number of due calls."""

    @property
    def running(self) -> int:
        """The number of running calls."""

    @property
    def dead(self) -> int:
        """The number of dead letters."""

    @property
    def lag_s(self) -> float:
        """The waiting time of the oldest due call."""

    @property
    def heartbeat_age_s(self) -> float | None:
        """The seconds since the last heartbeat of a worker."""


class QueueCounter(Protocol):
    """The part of a job engine that counts its queue."""

    def counts(self, connection: sa.Connection) -> QueueState:
        """See `JobEngine.counts`."""


@dataclass(frozen=True)
class DatabaseMetrics:
    """The numbers that the database contains."""

    queue: QueueState
    indexes: dict[str, int]
    index_lag_s: float
    sandboxes: dict[str, int]
    ai_tokens_today: int


def queue_counts(jobs: QueueCounter) -> QueueState:
    """Return the state of the job queue."""
    with db.engine.connect() as connection:
        return jobs.counts(connection)


def database_metrics(jobs: QueueCounter) -> DatabaseMetrics:
    """Read all numbers with one connection."""
    now = utcnow_ms()
    with db.engine.connect() as connection:
        queue = jobs.counts(connection)
        indexes = connection.execute(
            sa.select(ContentIndex.status, sa.func.count()).group_by(ContentIndex.status)
        ).all()
        oldest = connection.scalar(
            sa.select(sa.func.min(ContentIndex.updated_at)).where(ContentIndex.status.in_(PENDING_STATES))
        )
        sandboxes = connection.execute(_SANDBOXES).all()
        tokens = connection.scalar(sa.select(sa.func.sum(AiBudget.tokens)).where(AiBudget.day == now.date()))
    return DatabaseMetrics(
        queue=queue,
        indexes={str(state): number for state, number in indexes},
        index_lag_s=0.0 if oldest is None else max(0.0, (now - oldest).total_seconds()),
        sandboxes=dict.fromkeys(map(str, ACTIVE_STATES), 0) | {str(state): number for state, number in sandboxes},
        ai_tokens_today=tokens or 0,
    )
