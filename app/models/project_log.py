"""The table of changes to the files of a project."""

from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.core.limits import TextLengths
from app.models.base import ID_LENGTH, SHA_LENGTH, Base, enum_column, foreign_key, id_column, utcnow_ms

LOG_ID = "log"
"""Prefix of the ids of entries."""


class LogAction(StrEnum):
    """The kind of a change. The specification defines the first three."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    RENAME = "rename"
    DUPLICATE = "duplicate"


class LogSource(StrEnum):
    """The source of a report: a client, a commit of this service, or a detected push."""

    CLIENT = "client"
    COMMIT = "commit"
    PUSH = "push"


class ProjectLogEntry(Base):
    """A change of one file.

    Ids sort by time. A change through an API token records the token, which may be deleted later.
    """

    __tablename__ = "project_log_entries"
    __table_args__ = (
        sa.Index("ix_project_log_entries_project_id_id", "project_id", "id"),
        # A commit changes a path once, although the save, a webhook and the index may all report it.
        sa.UniqueConstraint("project_id", "commit_sha", "file"),
    )

    id: Mapped[str] = id_column(LOG_ID)
    project_id: Mapped[str] = foreign_key("projects.id", index=False)
    action: Mapped[LogAction] = enum_column(LogAction, "log_action")
    file: Mapped[str]
    file_type: Mapped[str | None] = mapped_column(sa.String(40))
    user_id: Mapped[str | None] = foreign_key("users.id", ondelete="SET NULL")
    user_name: Mapped[str | None]
    source: Mapped[LogSource] = enum_column(LogSource, "log_source")
    commit_sha: Mapped[str | None] = mapped_column(sa.String(SHA_LENGTH))
    token_id: Mapped[str | None] = mapped_column(sa.String(ID_LENGTH))
    token_name: Mapped[str | None] = mapped_column(sa.String(TextLengths.TOKEN_NAME))
    created_at: Mapped[datetime] = mapped_column(default=utcnow_ms)

    @property
    def token(self) -> dict[str, str | None] | None:
        """The id and name of the API token that made the change."""
        return {"id": self.token_id, "name": self.token_name} if self.token_id else None

    @property
    def shown_source(self) -> str:
        """The source in responses: `token` for a change through the API with a token."""
        return "token" if self.token_id and self.source is not LogSource.PUSH else self.source
