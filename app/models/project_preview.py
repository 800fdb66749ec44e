"""Tables of preview records."""

from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import SHA_LENGTH, Base, Timestamps, enum_column


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
