"""Tables of sandboxes and preview records."""

from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import ID_LENGTH, SHA_LENGTH, Base, Timestamps, enum_column, foreign_key, id_column

_LIVE = sa.text("state IN ('starting', 'running')")
MARKS_OF_SANDBOX = 4**10
"""The numbers of marks that a sandbox can give out."""


class PreviewState(StrEnum):
    """State of a sandbox."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPED = "stopped"
    FAILED = "failed"


class ProjectPreview(Timestamps, Base):
    """The preview record of a project. `failure` describes a start that failed."""

    __tablename__ = "project_previews"

    project_id: Mapped[str] = mapped_column(sa.ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    sandbox_id: Mapped[str | None] = mapped_column(sa.String(80), unique=True)
    sandbox_name: Mapped[str | None]
    preview_url: Mapped[str | None]
    urls: Mapped[dict[str, Any]] = mapped_column(default=dict)
    state: Mapped[PreviewState] = enum_column(PreviewState, "preview_state", default=PreviewState.STARTING)
    commit_sha: Mapped[str | None] = mapped_column(sa.String(SHA_LENGTH))
    failure: Mapped[dict[str, Any] | None]
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]


ACTIVE_STATES = (PreviewState.STARTING, PreviewState.RUNNING)


class Sandbox(Timestamps, Base):
    """One sandbox. Each project has at most one active sandbox, and one that is editable.

    An editable sandbox writes source marks into its copy of the site. They have the numbers from `first_mark`.
    `unmarked_reason` says why it has none. `unmarked_paths` are files without marks, `unmarked_values` are pairs of a
    file and the JSON pointer of a value without one, `mark_rules` the other rules of values.
    """

    __tablename__ = "sandboxes"
    __table_args__ = (
        sa.Index(
            "uq_sandboxes_live_of_kind",
            "project_id",
            "editable",
            unique=True,
            sqlite_where=_LIVE,
            postgresql_where=_LIVE,
        ),
    )

    id: Mapped[str] = id_column("sbx")
    project_id: Mapped[str] = foreign_key("projects.id")
    user_id: Mapped[str | None] = foreign_key("users.id", ondelete="SET NULL")
    label: Mapped[str] = mapped_column(sa.String(ID_LENGTH), unique=True)
    node: Mapped[str] = mapped_column(sa.String(255))
    host_id: Mapped[str | None] = mapped_column("reference", sa.String(255))
    start_id: Mapped[str | None] = mapped_column(sa.String(64))
    state: Mapped[PreviewState] = enum_column(PreviewState, "sandbox_state", default=PreviewState.STARTING)
    commit_sha: Mapped[str | None] = mapped_column(sa.String(SHA_LENGTH))
    code: Mapped[str | None] = mapped_column(sa.String(64))
    problem: Mapped[str | None]
    step: Mapped[str | None] = mapped_column(sa.String(64))
    hint: Mapped[str | None]
    log: Mapped[str | None]
    start_heartbeat_at: Mapped[datetime | None] = mapped_column("tended_at")
    expires_at: Mapped[datetime] = mapped_column(index=True)
    ended_at: Mapped[datetime | None]
    editable: Mapped[bool] = mapped_column(default=False, server_default=sa.false())
    first_mark: Mapped[int | None]
    unmarked_reason: Mapped[str | None]
    unmarked_paths: Mapped[list[str] | None]
    unmarked_values: Mapped[list[Any] | None] = mapped_column(sa.JSON)
    mark_rules: Mapped[dict[str, Any] | None]

    @property
    def is_marked(self) -> bool:
        """Return whether the pages of the sandbox have marks."""
        return self.editable and self.unmarked_reason is None


class MarkRange(Base):
    """The marks of one version of a file that was written into an editable sandbox.

    `positions` is compressed JSON. The mark of the position with index i has the number `first_number` + i.
    """

    __tablename__ = "mark_ranges"

    sandbox_id: Mapped[str] = mapped_column(sa.ForeignKey("sandboxes.id", ondelete="CASCADE"), primary_key=True)
    first_number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    last_number: Mapped[int]
    path: Mapped[str]
    blob_sha: Mapped[str] = mapped_column(sa.String(SHA_LENGTH))
    positions: Mapped[bytes] = mapped_column(sa.LargeBinary)
