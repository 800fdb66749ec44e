"""Unsaved work: one draft a person, branch and file."""

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import SHA_LENGTH, Base, Timestamps, id_column, reference


class ProjectDraft(Timestamps, Base):
    """What somebody has typed into a file and not saved; `base_blob_sha` is the blob they started from, None for a new file."""

    __tablename__ = "project_drafts"
    __table_args__ = (sa.UniqueConstraint("project_id", "user_id", "branch", "file"),)

    id: Mapped[str] = id_column("drf")
    project_id: Mapped[str] = reference("projects.id", index=False)
    user_id: Mapped[str] = reference("users.id")
    branch: Mapped[str]
    file: Mapped[str]
    content: Mapped[str]
    base_blob_sha: Mapped[str | None] = mapped_column(sa.String(SHA_LENGTH))
