"""How a person likes the application, and their commits attributed."""

from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, Timestamps, word_column


class Theme(StrEnum):
    """The look of the interface."""

    LIGHT = "light"
    DARK = "dark"
    SYSTEM = "system"


class UserPreference(Timestamps, Base):
    """One row a user; absent means all defaults. `impersonate` attributes commits to the bot alone."""

    __tablename__ = "user_preferences"

    user_id: Mapped[str] = mapped_column(sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    theme: Mapped[Theme] = word_column(Theme, "theme", default=Theme.SYSTEM)
    language: Mapped[str] = mapped_column(sa.String(8), default="en")
    timezone: Mapped[str] = mapped_column(sa.String(64), default="UTC")
    impersonate: Mapped[bool] = mapped_column(default=False)
