"""Organizations, their members and who is invited."""

from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.core.permissions import Role
from app.models.base import Base, Timestamps, id_column, moment, reference, word_column
from app.models.user import User


class Status(StrEnum):
    """Whether an organization or project is worked on or put away."""

    ACTIVE = "active"
    ARCHIVED = "archived"


class Organization(Timestamps, Base):
    """A group that owns projects. Its owner's membership row and `owner_id` change together."""

    __tablename__ = "organizations"
    __table_args__ = (
        sa.UniqueConstraint("owner_id", "name"),
        sa.Index(
            "uq_organizations_default_of_owner",
            "owner_id",
            unique=True,
            sqlite_where=sa.text("is_default"),
            postgresql_where=sa.text("is_default"),
        ),
    )

    id: Mapped[str] = id_column("org")
    name: Mapped[str] = mapped_column(sa.String(80))
    image: Mapped[str | None] = mapped_column(
        sa.ForeignKey("media_assets.key", ondelete="SET NULL", use_alter=True), index=True
    )
    settings: Mapped[dict[str, Any]] = mapped_column(default=dict)
    owner_id: Mapped[str] = reference("users.id", index=False)
    is_default: Mapped[bool] = mapped_column(default=False)
    status: Mapped[Status] = word_column(Status, "status", default=Status.ACTIVE)
    memberships: Mapped[list["Membership"]] = relationship(
        back_populates="organization", lazy="raise", passive_deletes=True
    )


class Membership(Base):
    """A user's place in an organization."""

    __tablename__ = "memberships"
    __table_args__ = (
        sa.Index(
            "uq_memberships_one_owner",
            "organization_id",
            unique=True,
            sqlite_where=sa.text("role = 'owner'"),
            postgresql_where=sa.text("role = 'owner'"),
        ),
    )

    organization_id: Mapped[str] = mapped_column(
        sa.ForeignKey("organizations.id", ondelete="CASCADE"), primary_key=True
    )
    user_id: Mapped[str] = mapped_column(sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True)
    role: Mapped[Role] = word_column(Role, "role")
    joined_at: Mapped[datetime] = mapped_column(default=moment)
    organization: Mapped[Organization] = relationship(back_populates="memberships", lazy="raise")
    user: Mapped[User] = relationship(lazy="raise")


class Invitation(Timestamps, Base):
    """A place kept for an e-mail until it is verified by someone."""

    __tablename__ = "invitations"
    __table_args__ = (sa.UniqueConstraint("organization_id", "email_key"),)

    id: Mapped[str] = id_column("inv")
    organization_id: Mapped[str] = reference("organizations.id", index=False)
    email: Mapped[str]
    email_key: Mapped[str] = mapped_column(index=True)
    role: Mapped[Role] = word_column(Role, "role")
    invited_by: Mapped[str | None] = reference("users.id", ondelete="SET NULL")
    expires_at: Mapped[datetime]
