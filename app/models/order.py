"""Tables of payments, subscriptions and pre-orders. Amounts are minor units of `currency` (ISO 4217).

All rows except pre-orders are derived from `billing_events`. The order in which events arrive does not change the
result.
"""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import ID_LENGTH, Base, Timestamps, foreign_key, id_column


class BillingEvent(Base):
    """A state of an entity as reported by the provider. `id` is the provider's id, so an event counts once."""

    __tablename__ = "billing_events"
    __table_args__ = (sa.Index("ix_billing_events_entity_id_occurred_at_id", "entity_id", "occurred_at", "id"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    type: Mapped[str] = mapped_column(sa.String(64))
    entity_id: Mapped[str]
    occurred_at: Mapped[datetime]
    email_key: Mapped[str | None] = mapped_column(index=True)
    state: Mapped[dict[str, Any]]
    received_at: Mapped[datetime]


class BillingCustomer(Timestamps, Base):
    """A customer of the provider and the user it belongs to. None means that no such user exists yet.

    The row is the lock for all derived rows of the customer.
    """

    __tablename__ = "billing_customers"

    id: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[str | None] = foreign_key("users.id", ondelete="SET NULL")


class Subscription(Timestamps, Base):
    """A paid subscription of a user: `amount_minor` every `frequency` times `interval`.

    `named_user_id` is the user that the checkout named. While `canceling_until` is in the future, one request cancels
    the subscription at the provider and other requests wait for it.
    """

    __tablename__ = "subscriptions"
    __table_args__ = (
        sa.Index("ix_subscriptions_started_at_currency", "started_at", "currency"),
        sa.Index("ix_subscriptions_canceled_at_currency", "canceled_at", "currency"),
    )

    id: Mapped[str] = id_column("sub")
    user_id: Mapped[str | None] = foreign_key("users.id", ondelete="SET NULL")
    named_user_id: Mapped[str | None] = mapped_column(sa.String(ID_LENGTH))
    customer_id: Mapped[str] = mapped_column(index=True)
    provider_id: Mapped[str] = mapped_column(unique=True)
    plan: Mapped[str]
    status: Mapped[str] = mapped_column(sa.String(20))
    amount_minor: Mapped[int] = mapped_column(sa.BigInteger)
    currency: Mapped[str] = mapped_column(sa.String(3))
    interval: Mapped[str] = mapped_column(sa.String(20))
    frequency: Mapped[int]
    current_period_end: Mapped[datetime | None]
    cancel_at: Mapped[datetime | None]
    started_at: Mapped[datetime]
    canceled_at: Mapped[datetime | None]
    canceling_until: Mapped[datetime | None]


class SubscriptionPeriod(Base):
    """A period in which a subscription did not change, from `valid_from` until before `valid_to`.

    `monthly_millionths` is the monthly amount in millionths of the minor unit, so that sums of yearly prices are exact.
    It is 0 unless the subscription is `active`.
    """

    __tablename__ = "subscription_periods"
    __table_args__ = (
        sa.Index(
            "ix_subscription_periods_open",
            *("currency", "plan", "status", "monthly_millionths", "valid_from"),
            sqlite_where=sa.text("valid_to IS NULL"),
            postgresql_where=sa.text("valid_to IS NULL"),
        ),
        sa.Index("ix_subscription_periods_valid_to", "valid_to"),
    )

    subscription_id: Mapped[str] = mapped_column(
        sa.String(ID_LENGTH), sa.ForeignKey("subscriptions.id", ondelete="CASCADE"), primary_key=True
    )
    valid_from: Mapped[datetime] = mapped_column(primary_key=True)
    valid_to: Mapped[datetime | None]
    status: Mapped[str] = mapped_column(sa.String(20))
    plan: Mapped[str]
    amount_minor: Mapped[int] = mapped_column(sa.BigInteger)
    currency: Mapped[str] = mapped_column(sa.String(3))
    interval: Mapped[str] = mapped_column(sa.String(20))
    frequency: Mapped[int]
    monthly_millionths: Mapped[int] = mapped_column(sa.BigInteger)


class Order(Timestamps, Base):
    """A completed or failed payment. The subscription `subscription_provider_id` may be unknown."""

    __tablename__ = "orders"

    id: Mapped[str] = id_column("ord")
    user_id: Mapped[str | None] = foreign_key("users.id", ondelete="SET NULL")
    named_user_id: Mapped[str | None] = mapped_column(sa.String(ID_LENGTH))
    customer_id: Mapped[str] = mapped_column(index=True)
    subscription_provider_id: Mapped[str | None] = mapped_column(index=True)
    provider_id: Mapped[str] = mapped_column(unique=True)
    number: Mapped[str | None]
    status: Mapped[str] = mapped_column(sa.String(20))
    plan: Mapped[str | None]
    amount_minor: Mapped[int] = mapped_column(sa.BigInteger)
    currency: Mapped[str] = mapped_column(sa.String(3))
    period: Mapped[str | None]
    invoice_url: Mapped[str | None]
    completed_at: Mapped[datetime | None]


class Refund(Timestamps, Base):
    """A refund of an order, or a reversed refund if negative. It counts from `approved_at`, and not if that is None."""

    __tablename__ = "refunds"

    provider_id: Mapped[str] = mapped_column(primary_key=True)
    order_provider_id: Mapped[str] = mapped_column(index=True)
    customer_id: Mapped[str]
    amount_minor: Mapped[int] = mapped_column(sa.BigInteger)
    currency: Mapped[str] = mapped_column(sa.String(3))
    approved_at: Mapped[datetime | None]


class BillingDay(Base):
    """The changes of one day, as sums over `orders`, `refunds` and `subscription_periods`. Updated with these tables.

    `day` is its midnight in UTC. `billed_millionths` and `billed_count` are the started minus the ended monthly billing
    of the day.
    """

    __tablename__ = "billing_days"

    day: Mapped[datetime] = mapped_column(primary_key=True)
    currency: Mapped[str] = mapped_column(sa.String(3), primary_key=True)
    revenue_minor: Mapped[int] = mapped_column(sa.BigInteger)
    refunds_minor: Mapped[int] = mapped_column(sa.BigInteger)
    billed_millionths: Mapped[int] = mapped_column(sa.BigInteger)
    billed_count: Mapped[int]


class PreOrder(Timestamps, Base):
    """The interest of a user in a plan without an order."""

    __tablename__ = "pre_orders"

    id: Mapped[str] = id_column("pre")
    user_id: Mapped[str | None] = foreign_key("users.id", ondelete="SET NULL")
    plan: Mapped[str]
    email: Mapped[str | None]
    billing_period: Mapped[str | None] = mapped_column(sa.String(20))
    country: Mapped[str | None] = mapped_column(sa.String(2))
    source: Mapped[str | None]
