"""Tables of users and of their preferences for the interface and for commits."""

from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.core.api_tokens import TokenGrant
from app.models.base import Base, Timestamps, enum_column, id_column


class User(Timestamps, Base):
    """A user. `email_key` is the address in its comparable form.

    `is_admin` marks platform admins; only a command sets it. With `two_factor_enabled` a sign-in needs a second factor.
    """

    __tablename__ = "users"

    id: Mapped[str] = id_column("usr")
    email: Mapped[str]
    email_key: Mapped[str] = mapped_column(unique=True)
    email_verified: Mapped[bool] = mapped_column(default=False)
    name: Mapped[str]
    image: Mapped[str | None] = mapped_column(
        sa.ForeignKey("media_assets.key", ondelete="SET NULL", use_alter=True), index=True
    )
    country: Mapped[str | None] = mapped_column(sa.String(2))
    subscribed: Mapped[bool] = mapped_column(default=False)
    is_admin: Mapped[bool] = mapped_column(default=False)
    provider: Mapped[str] = mapped_column(sa.String(20), default="credential")
    password_hash: Mapped[str | None]
    two_factor_enabled: Mapped[bool] = mapped_column(default=False, server_default=sa.false())


@dataclass(frozen=True)
class Actor:
    """A person who acts: the id of a user, with the API token of the request, if it has one.

    With `is_retry`, an earlier attempt of the same request may have had an effect outside.
    """

    id: str
    grant: TokenGrant | None = None
    is_retry: bool = False


class Theme(StrEnum):
    """The color theme of the interface."""

    LIGHT = "light"
    DARK = "dark"
    SYSTEM = "system"


class UserPreference(Timestamps, Base):
    """The preferences of a user. Without a row all defaults apply.

    `impersonate` attributes commits to the bot only. With `developer_view`, the console shows paths and versions.
    `muted_mails` are the kinds of notices without mails.
    """

    __tablename__ = "user_preferences"

    user_id: Mapped[str] = mapped_column(sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    theme: Mapped[Theme] = enum_column(Theme, "theme", default=Theme.SYSTEM)
    language: Mapped[str] = mapped_column(sa.String(8), default="en")
    timezone: Mapped[str] = mapped_column(sa.String(64), default="UTC")
    impersonate: Mapped[bool] = mapped_column(default=False)
    developer_view: Mapped[bool] = mapped_column(default=False, server_default=sa.false())
    muted_mails: Mapped[list[str]] = mapped_column(default=list)
