"""Tables of organizations, memberships and invitations."""

from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.core.limits import TextLengths
from app.core.permissions import Access, Role
from app.models.base import Base, Timestamps, enum_column, foreign_key, id_column, utcnow_ms
from app.models.user import User


class ArchiveStatus(StrEnum):
    """The archive status of an organization or project."""

    ACTIVE = "active"
    ARCHIVED = "archived"


class Organization(Timestamps, Base):
    """A group of users that owns projects. The membership row of the owner and `owner_id` change together.

    From `second_factor_from` on, its members need a second factor. None requires none.
    """

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
    name: Mapped[str] = mapped_column(sa.String(TextLengths.ORGANIZATION_NAME))
    image: Mapped[str | None] = mapped_column(
        sa.ForeignKey("media_assets.key", ondelete="SET NULL", use_alter=True), index=True
    )
    settings: Mapped[dict[str, Any]] = mapped_column(default=dict)
    owner_id: Mapped[str] = foreign_key("users.id", index=False)
    is_default: Mapped[bool] = mapped_column(default=False)
    status: Mapped[ArchiveStatus] = enum_column(ArchiveStatus, "status", default=ArchiveStatus.ACTIVE)
    second_factor_from: Mapped[datetime | None]
    memberships: Mapped[list["Membership"]] = relationship(
        back_populates="organization", lazy="raise", passive_deletes=True
    )


class Membership(Base):
    """The membership of a user in an organization. With the access `projects` the role is `editor`."""

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
    role: Mapped[Role] = enum_column(Role, "role")
    access: Mapped[str] = mapped_column(sa.String(16), default=Access.ALL, server_default="all")
    joined_at: Mapped[datetime] = mapped_column(default=utcnow_ms)
    organization: Mapped[Organization] = relationship(back_populates="memberships", lazy="raise")
    user: Mapped[User] = relationship(lazy="raise")


class Invitation(Timestamps, Base):
    """A pending membership for an e-mail address that a user must verify."""

    __tablename__ = "invitations"
    __table_args__ = (sa.UniqueConstraint("organization_id", "email_key"),)

    id: Mapped[str] = id_column("inv")
    organization_id: Mapped[str] = foreign_key("organizations.id", index=False)
    email: Mapped[str]
    email_key: Mapped[str] = mapped_column(index=True)
    role: Mapped[Role] = enum_column(Role, "role")
    access: Mapped[str] = mapped_column(sa.String(16), default=Access.ALL, server_default="all")
    invited_by: Mapped[str | None] = foreign_key("users.id", ondelete="SET NULL")
    expires_at: Mapped[datetime]


class MembershipProject(Base):
    """A project that a member with the access `projects` sees, and the role of the member in it."""

    __tablename__ = "membership_projects"
    __table_args__ = (
        sa.ForeignKeyConstraint(
            ["organization_id", "user_id"],
            ["memberships.organization_id", "memberships.user_id"],
            name="fk_membership_projects_membership",
            ondelete="CASCADE",
        ),
        sa.Index("ix_membership_projects_membership", "organization_id", "user_id"),
    )

    project_id: Mapped[str] = mapped_column(sa.ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[str] = mapped_column(sa.String(40), primary_key=True)
    organization_id: Mapped[str] = mapped_column(sa.String(40))
    role: Mapped[Role] = enum_column(Role, "role")


class InvitationProject(Base):
    """A project of an invitation with the access `projects`, and the role in it."""

    __tablename__ = "invitation_projects"

    project_id: Mapped[str] = mapped_column(sa.ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    invitation_id: Mapped[str] = mapped_column(
        sa.ForeignKey("invitations.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    role: Mapped[Role] = enum_column(Role, "role")
