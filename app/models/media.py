"""Uploaded images, and how many bytes each person sent of late."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, Timestamps, id_column, moment, reference


class MediaAsset(Timestamps, Base):
    """One stored object. What it is attached to decides who else may delete it and what it goes with.

    The row comes first and the object after it: as long as `stored_at` is empty, nobody but the sweep sees the row.
    """

    __tablename__ = "media_assets"

    id: Mapped[str] = id_column("ast")
    key: Mapped[str] = mapped_column(unique=True)
    uploader_id: Mapped[str | None] = reference("users.id", ondelete="SET NULL")
    organization_id: Mapped[str | None] = reference("organizations.id")
    project_id: Mapped[str | None] = reference("projects.id")
    mimetype: Mapped[str] = mapped_column(sa.String(40))
    size: Mapped[int] = mapped_column(sa.BigInteger)
    width: Mapped[int]
    height: Mapped[int]
    hash: Mapped[str] = mapped_column(sa.String(64))
    stored_at: Mapped[datetime | None]


class MediaUpload(Base):
    """The bytes of one upload, counted for a day whether the asset is deleted in the meantime or not."""

    __tablename__ = "media_uploads"
    __table_args__ = (sa.Index("ix_media_uploads_user_id_created_at", "user_id", "created_at"),)

    id: Mapped[str] = id_column("ast")
    user_id: Mapped[str] = reference("users.id", index=False)
    size: Mapped[int] = mapped_column(sa.BigInteger)
    created_at: Mapped[datetime] = mapped_column(default=moment)
