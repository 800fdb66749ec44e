"""Orders, subscriptions and pre-orders of a user, and the claims of cancellations."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

import sqlalchemy as sa
import structlog

from app.core.errors import Conflict, NotFound
from app.core.ids import HasId
from app.drivers.billing.port import PaymentStatus, SubscriptionStatus
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.order import Order, PreOrder, Refund, Subscription
from app.models.user import User
from app.resources.user.creation_limits import ENTITLED

log = structlog.get_logger(__name__)

MAX_ORDERS = 1_000
CLAIM_LIFETIME = timedelta(seconds=120)
"""Longer than all attempts of the driver. After that, the next request checks the provider first."""


@dataclass(frozen=True)
class OrderLine:
    """An order with its payment status. Other attributes are those of the order."""

    order: Order
    status: str

    def __getattr__(self, name: str) -> object:
        return getattr(self.order, name)


@dataclass(frozen=True)
class BillingHistory:
    """Orders and subscriptions, newest first. `active_package` is the present plan."""

    orders: list[OrderLine]
    subscriptions: list[Subscription]
    active_package: str | None


def history(user_id: str, *, by: HasId) -> BillingHistory:
    """Return the orders and subscriptions of a user. Access by a platform admin is logged."""
    if by.id != user_id:
        log.info("order.read_by_admin", user_id=user_id, admin_id=by.id)
    subscriptions = list(
        db.session.scalars(
            sa.select(Subscription)
            .where(Subscription.user_id == user_id)
            .order_by(Subscription.started_at.desc(), Subscription.id.desc())
        )
    )
    active = next((subscription.plan for subscription in subscriptions if subscription.status in ENTITLED), None)
    return BillingHistory(_orders(user_id), subscriptions, active)


def _orders(user_id: str) -> list[OrderLine]:
    refunded = (
        sa.select(sa.func.sum(Refund.amount_minor))
        .where(Refund.order_provider_id == Order.provider_id, Refund.approved_at.is_not(None))
        .scalar_subquery()
    )
    rows = db.session.execute(
        sa.select(Order, refunded)
        .where(Order.user_id == user_id)
        .order_by(Order.created_at.desc(), Order.id.desc())
        .limit(MAX_ORDERS)
    )
    return [OrderLine(order, _status(order, int(back or 0))) for order, back in rows]


def _status(order: Order, refunded_minor: int) -> str:
    if order.status != PaymentStatus.COMPLETED or refunded_minor <= 0:
        return order.status
    return "refunded" if refunded_minor >= order.amount_minor else "partially_refunded"


def pre_order(user: User, *, plan: str, **details: str | None) -> PreOrder:
    """Store a pre-order with the optional `email`, `billing_period`, `country` and `source`."""
    pre_order_row = PreOrder(user_id=user.id, plan=plan, **details)
    db.session.add(pre_order_row)
    db.session.flush()
    return pre_order_row


class ClaimOutcome(Enum):
    """The result of a claim."""

    OURS = "ours"
    ANOTHERS = "another's"
    DONE = "done"


class SubscriptionEnded(Conflict):
    """The subscription has ended (409)."""

    code, message = "SUBSCRIPTION_ENDED", "This subscription has already ended"


def claim(subscription_id: str, *, immediately: bool, waited: bool) -> tuple[ClaimOutcome, datetime | None]:
    """Claim the right to cancel a subscription. Returns the expiry of the claim, which only its holder can release.

    A subscription that ended while the caller `waited` for another request is done and not a conflict.

    Raises:
        SubscriptionEnded: the subscription ended before the request.
        NotFound: the subscription does not exist.
    """
    row = db.session.scalar(
        sa.select(Subscription)
        .where(Subscription.id == subscription_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    if row is None:
        raise NotFound("Subscription not found")
    if row.status == SubscriptionStatus.CANCELED:
        if not waited:
            raise SubscriptionEnded
        return ClaimOutcome.DONE, None
    if row.cancel_at is not None and not immediately:
        return ClaimOutcome.DONE, None
    if row.canceling_until is not None and row.canceling_until > utcnow_ms():
        return ClaimOutcome.ANOTHERS, None
    row.canceling_until = utcnow_ms() + CLAIM_LIFETIME
    db.session.flush()
    return ClaimOutcome.OURS, row.canceling_until


def release_claim(subscription_id: str, claimed: datetime | None) -> None:
    """Release a claim after a failed call to the provider."""
    db.session.execute(
        sa.update(Subscription)
        .where(Subscription.id == subscription_id, Subscription.canceling_until == claimed)
        .values(canceling_until=None)
    )
