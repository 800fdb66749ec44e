"""What happened to a project's files."""

from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import SHA_LENGTH, Base, id_column, moment, reference, word_column


class LogAction(StrEnum):
    """The kind of change; the first three are the specification's."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    RENAME = "rename"
    DUPLICATE = "duplicate"


class LogSource(StrEnum):
    """Who told of the change: a client, a commit made here, or a push seen."""

    CLIENT = "client"
    COMMIT = "commit"
    PUSH = "push"


class ProjectLogEntry(Base):
    """One file change; ids sort by time."""

    __tablename__ = "project_log_entries"
    __table_args__ = (
        sa.Index("ix_project_log_entries_project_id_id", "project_id", "id"),
        # A commit changes a path once, however often it is told: by the save, by a webhook, by the index.
        sa.UniqueConstraint("project_id", "commit_sha", "file"),
    )

    id: Mapped[str] = id_column("log")
    project_id: Mapped[str] = reference("projects.id", index=False)
    action: Mapped[LogAction] = word_column(LogAction, "log_action")
    file: Mapped[str]
    file_type: Mapped[str | None] = mapped_column(sa.String(40))
    user_id: Mapped[str | None] = reference("users.id", ondelete="SET NULL")
    user_name: Mapped[str | None]
    source: Mapped[LogSource] = word_column(LogSource, "log_source")
    commit_sha: Mapped[str | None] = mapped_column(sa.String(SHA_LENGTH))
    created_at: Mapped[datetime] = mapped_column(default=moment)
