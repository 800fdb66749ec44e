"""What was paid, what is paid for, and who nearly did. Amounts are minor units of `currency` (ISO 4217).

Everything but pre-orders is folded from `billing_events`: the rows of the other tables are what all known events of
their entity say together, in whatever order they came.
"""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import ID_LENGTH, Base, Timestamps, id_column, reference


class BillingEvent(Base):
    """One state of one entity, as the provider told it; `id` is the provider's, so that each counts once."""

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
    """Who pays, at the provider, and which user that is; None waits for one to appear.

    Its row is the lock under which everything of this customer is folded.
    """

    __tablename__ = "billing_customers"

    id: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[str | None] = reference("users.id", ondelete="SET NULL")


class Subscription(Timestamps, Base):
    """A plan a user pays for again and again: `amount_minor` every `frequency` times `interval`.

    `named_user_id` is who the checkout said it is for. While `canceling_until` lies ahead, one request asks the
    provider to cancel and the others wait for it.
    """

    __tablename__ = "subscriptions"
    __table_args__ = (
        sa.Index("ix_subscriptions_started_at_currency", "started_at", "currency"),
        sa.Index("ix_subscriptions_canceled_at_currency", "canceled_at", "currency"),
    )

    id: Mapped[str] = id_column("sub")
    user_id: Mapped[str | None] = reference("users.id", ondelete="SET NULL")
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
    """A time through which a subscription stayed the same, from `valid_from` until before `valid_to`.

    `monthly_millionths` is what it bills in a month, in millionths of the minor unit, so that sums of yearly prices
    are exact; 0 where nothing is billed: only `active` ones are.
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
    """One completed or failed payment; `subscription_provider_id` is what it was for, known to us already or not."""

    __tablename__ = "orders"

    id: Mapped[str] = id_column("ord")
    user_id: Mapped[str | None] = reference("users.id", ondelete="SET NULL")
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
    """Money of an order that went back, or, negative, came again; it counts from `approved_at`, None counts not."""

    __tablename__ = "refunds"

    provider_id: Mapped[str] = mapped_column(primary_key=True)
    order_provider_id: Mapped[str] = mapped_column(index=True)
    customer_id: Mapped[str]
    amount_minor: Mapped[int] = mapped_column(sa.BigInteger)
    currency: Mapped[str] = mapped_column(sa.String(3))
    approved_at: Mapped[datetime | None]


class BillingDay(Base):
    """What changed on a day: sums over `orders`, `refunds` and `subscription_periods`, kept with every change of these.

    `day` is its midnight, UTC. `billed_millionths` and `billed_count` are what began to be billed by the month that
    day, less what ended to be.
    """

    __tablename__ = "billing_days"

    day: Mapped[datetime] = mapped_column(primary_key=True)
    currency: Mapped[str] = mapped_column(sa.String(3), primary_key=True)
    revenue_minor: Mapped[int] = mapped_column(sa.BigInteger)
    refunds_minor: Mapped[int] = mapped_column(sa.BigInteger)
    billed_millionths: Mapped[int] = mapped_column(sa.BigInteger)
    billed_count: Mapped[int]


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
