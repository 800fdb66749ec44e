"""Tables of AI calls and of the daily budgets of the operator's tokens."""

from datetime import date, datetime

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, foreign_key, id_column, utcnow_ms


class AiUsage(Base):
    """A call of a handler. It is running while `ended_at` is empty and `expires_at` is in the future."""

    __tablename__ = "ai_usage"
    __table_args__ = (sa.Index("ix_ai_usage_user_id_created_at", "user_id", "created_at"),)

    id: Mapped[str] = id_column("aiu")
    user_id: Mapped[str] = foreign_key("users.id", index=False)
    organization_id: Mapped[str | None] = foreign_key("organizations.id", ondelete="SET NULL")
    handler: Mapped[str] = mapped_column(sa.String(32))
    provider: Mapped[str] = mapped_column(sa.String(16))
    model: Mapped[str] = mapped_column(sa.String(80))
    own_key: Mapped[bool]
    input_tokens: Mapped[int] = mapped_column(sa.BigInteger, default=0)
    output_tokens: Mapped[int] = mapped_column(sa.BigInteger, default=0)
    created_at: Mapped[datetime] = mapped_column(default=utcnow_ms)
    expires_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]


class AiBudget(Base):
    """The operator's tokens that a user has used or reserved on one day (UTC)."""

    __tablename__ = "ai_budgets"

    user_id: Mapped[str] = mapped_column(sa.String(40), sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    day: Mapped[date] = mapped_column(sa.Date, primary_key=True)
    tokens: Mapped[int] = mapped_column(sa.BigInteger, default=0)
