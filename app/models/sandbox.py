"""Sandboxes that run or ran: whose they are, which host keeps them, how long they may live."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import ID_LENGTH, SHA_LENGTH, Base, Timestamps, id_column, reference, word_column
from app.models.project_preview import PreviewState

LIVE = (PreviewState.STARTING, PreviewState.RUNNING)
_LIVE = sa.text("state IN ('starting', 'running')")


class Sandbox(Timestamps, Base):
    """One sandbox; of each project at most one is live.

    `label` is its host name's first part, 128 random bits; `reference` is what its host calls it, None until the host
    has it, and `tended_at` when the process that brings it there last said so. `log` is the end of what a failed one
    printed.
    """

    __tablename__ = "sandboxes"
    __table_args__ = (
        sa.Index("uq_sandboxes_live_of_project", "project_id", unique=True, sqlite_where=_LIVE, postgresql_where=_LIVE),
    )

    id: Mapped[str] = id_column("sbx")
    project_id: Mapped[str] = reference("projects.id")
    user_id: Mapped[str | None] = reference("users.id", ondelete="SET NULL")
    label: Mapped[str] = mapped_column(sa.String(ID_LENGTH), unique=True)
    node: Mapped[str] = mapped_column(sa.String(255))
    reference: Mapped[str | None] = mapped_column(sa.String(255))
    state: Mapped[PreviewState] = word_column(PreviewState, "sandbox_state", default=PreviewState.STARTING)
    commit_sha: Mapped[str | None] = mapped_column(sa.String(SHA_LENGTH))
    code: Mapped[str | None] = mapped_column(sa.String(64))
    problem: Mapped[str | None]
    log: Mapped[str | None]
    tended_at: Mapped[datetime | None]
    expires_at: Mapped[datetime] = mapped_column(index=True)
    ended_at: Mapped[datetime | None]
