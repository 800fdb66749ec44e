"""What was paid, what is paid for, and who nearly did. Amounts are minor units of `currency` (ISO 4217)."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, Timestamps, id_column, reference


class Subscription(Timestamps, Base):
    """A plan a user pays for again and again."""

    __tablename__ = "subscriptions"

    id: Mapped[str] = id_column("sub")
    user_id: Mapped[str | None] = reference("users.id", ondelete="SET NULL")
    provider_id: Mapped[str] = mapped_column(unique=True)
    plan: Mapped[str]
    status: Mapped[str] = mapped_column(sa.String(20))
    amount_minor: Mapped[int] = mapped_column(sa.BigInteger)
    currency: Mapped[str] = mapped_column(sa.String(3))
    interval: Mapped[str] = mapped_column(sa.String(20))
    current_period_end: Mapped[datetime | None]
    cancel_at: Mapped[datetime | None]


class Order(Timestamps, Base):
    """One completed or attempted payment."""

    __tablename__ = "orders"

    id: Mapped[str] = id_column("ord")
    user_id: Mapped[str | None] = reference("users.id", ondelete="SET NULL")
    subscription_id: Mapped[str | None] = reference("subscriptions.id", ondelete="SET NULL")
    provider_id: Mapped[str] = mapped_column(unique=True)
    number: Mapped[str | None]
    status: Mapped[str] = mapped_column(sa.String(20))
    plan: Mapped[str | None]
    amount_minor: Mapped[int] = mapped_column(sa.BigInteger)
    currency: Mapped[str] = mapped_column(sa.String(3))
    period: Mapped[str | None]
    invoice_url: Mapped[str | None]


class PreOrder(Timestamps, Base):
    """Interest in a plan that did not become an order."""

    __tablename__ = "pre_orders"

    id: Mapped[str] = id_column("pre")
    user_id: Mapped[str | None] = reference("users.id", ondelete="SET NULL")
    plan: Mapped[str]
    email: Mapped[str | None]
    billing_period: Mapped[str | None] = mapped_column(sa.String(20))
    country: Mapped[str | None] = mapped_column(sa.String(2))
    source: Mapped[str | None]
