"""Tables of uploaded images and of the uploaded bytes per user."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, Timestamps, foreign_key, id_column, utcnow_ms


class MediaAsset(Timestamps, Base):
    """A stored object. The object it is attached to decides who else may delete it and when it is deleted.

    The row is inserted before the object is stored. Only the cleanup job reads rows whose `stored_at` is empty.
    """

    __tablename__ = "media_assets"

    id: Mapped[str] = id_column("ast")
    key: Mapped[str] = mapped_column(unique=True)
    uploader_id: Mapped[str | None] = foreign_key("users.id", ondelete="SET NULL")
    organization_id: Mapped[str | None] = foreign_key("organizations.id")
    project_id: Mapped[str | None] = foreign_key("projects.id")
    mimetype: Mapped[str] = mapped_column(sa.String(40))
    size: Mapped[int] = mapped_column(sa.BigInteger)
    width: Mapped[int]
    height: Mapped[int]
    hash: Mapped[str] = mapped_column(sa.String(64))
    stored_at: Mapped[datetime | None]


class MediaUpload(Base):
    """The bytes of an upload. They count for a day, even if the asset is deleted earlier."""

    __tablename__ = "media_uploads"
    __table_args__ = (sa.Index("ix_media_uploads_user_id_created_at", "user_id", "created_at"),)

    id: Mapped[str] = id_column("ast")
    user_id: Mapped[str] = foreign_key("users.id", index=False)
    size: Mapped[int] = mapped_column(sa.BigInteger)
    created_at: Mapped[datetime] = mapped_column(default=utcnow_ms)
