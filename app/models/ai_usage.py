"""Who asked a model for what: one row a call, and the operator's tokens each user had on a day."""

from datetime import date, datetime

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, id_column, moment, reference


class AiUsage(Base):
    """One call of a handler. It runs while `ended_at` is empty and `expires_at` lies ahead, whoever died meanwhile."""

    __tablename__ = "ai_usage"
    __table_args__ = (sa.Index("ix_ai_usage_user_id_created_at", "user_id", "created_at"),)

    id: Mapped[str] = id_column("aiu")
    user_id: Mapped[str] = reference("users.id", index=False)
    organization_id: Mapped[str | None] = reference("organizations.id", ondelete="SET NULL")
    handler: Mapped[str] = mapped_column(sa.String(32))
    provider: Mapped[str] = mapped_column(sa.String(16))
    model: Mapped[str] = mapped_column(sa.String(80))
    own_key: Mapped[bool]
    input_tokens: Mapped[int] = mapped_column(sa.BigInteger, default=0)
    output_tokens: Mapped[int] = mapped_column(sa.BigInteger, default=0)
    created_at: Mapped[datetime] = mapped_column(default=moment)
    expires_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]


class AiBudget(Base):
    """The operator's tokens a user has had, and has reserved, on one day (UTC)."""

    __tablename__ = "ai_budgets"

    user_id: Mapped[str] = mapped_column(sa.String(40), sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    day: Mapped[date] = mapped_column(sa.Date, primary_key=True)
    tokens: Mapped[int] = mapped_column(sa.BigInteger, default=0)
