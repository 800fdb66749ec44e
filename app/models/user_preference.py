"""The table of user preferences for the interface and for commits."""

from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, Timestamps, enum_column


class Theme(StrEnum):
    """The color theme of the interface."""

    LIGHT = "light"
    DARK = "dark"
    SYSTEM = "system"


class UserPreference(Timestamps, Base):
    """The preferences of a user. Without a row all defaults apply. `impersonate` attributes commits to the bot only."""

    __tablename__ = "user_preferences"

    user_id: Mapped[str] = mapped_column(sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    theme: Mapped[Theme] = enum_column(Theme, "theme", default=Theme.SYSTEM)
    language: Mapped[str] = mapped_column(sa.String(8), default="en")
    timezone: Mapped[str] = mapped_column(sa.String(64), default="UTC")
    impersonate: Mapped[bool] = mapped_column(default=False)
