"""Uploaded images."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, Timestamps, id_column, reference


class MediaAsset(Timestamps, Base):
    """One stored object. What it is attached to decides who else may delete it and what it goes with."""

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
