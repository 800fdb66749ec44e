"""The table of unsaved drafts: one per user, branch and file."""

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import SHA_LENGTH, Base, Timestamps, foreign_key, id_column


class ProjectDraft(Timestamps, Base):
    """The unsaved text of a user for a file.

    `base_blob_sha` is the blob from which the edit started, None for a new file.
    """

    __tablename__ = "project_drafts"
    __table_args__ = (sa.UniqueConstraint("project_id", "user_id", "branch", "file"),)

    id: Mapped[str] = id_column("drf")
    project_id: Mapped[str] = foreign_key("projects.id", index=False)
    user_id: Mapped[str] = foreign_key("users.id")
    branch: Mapped[str]
    file: Mapped[str]
    content: Mapped[str]
    base_blob_sha: Mapped[str | None] = mapped_column(sa.String(SHA_LENGTH))
