"""What takes payments is to the service: subscriptions, payments, refunds and customers in our words, and their events.

An event carries the whole state of one entity as it was at `occurred_at`; amounts are minor units of `currency`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from app.drivers.errors import DriverError, Rejected


class Forged(DriverError):
    """A notification is not signed by the provider, or not lately."""


class Unreadable(DriverError):
    """A signed notification does not say what its kind must say."""


class UnknownSubscription(Rejected):
    """The provider has no such subscription, or there is no provider."""


class SubscriptionStatus(StrEnum):
    """What a subscription can be; `canceled` is for good."""

    ACTIVE = "active"
    TRIALING = "trialing"
    PAST_DUE = "past_due"
    PAUSED = "paused"
    CANCELED = "canceled"


class PaymentStatus(StrEnum):
    """What became of a payment."""

    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True)
class SubscriptionState:
    """A subscription; it bills `amount_minor` every `frequency` times `interval` (day, week, month, year)."""

    provider_id: str
    customer_id: str | None
    user_id: str | None
    status: SubscriptionStatus
    plan: str
    amount_minor: int
    currency: str
    interval: str
    frequency: int
    started_at: datetime | None
    current_period_end: datetime | None
    cancel_at: datetime | None
    canceled_at: datetime | None


@dataclass(frozen=True)
class PaymentState:
    """A payment, completed or failed; `user_id` is who the checkout said it is for."""

    provider_id: str
    customer_id: str | None
    user_id: str | None
    subscription_id: str | None
    status: PaymentStatus
    number: str | None
    plan: str | None
    amount_minor: int
    currency: str
    period: str | None
    invoice_url: str | None
    completed_at: datetime | None


@dataclass(frozen=True)
class RefundState:
    """Money that went back, or, negative, came again; it counts while `is_approved`."""

    provider_id: str
    customer_id: str | None
    payment_id: str
    amount_minor: int
    currency: str
    is_approved: bool


@dataclass(frozen=True)
class CustomerState:
    """Who pays, as the provider knows them."""

    provider_id: str
    email: str
    user_id: str | None


State = SubscriptionState | PaymentState | RefundState | CustomerState


@dataclass(frozen=True)
class BillingEvent:
    """Something that happened at the provider; `state` is None for what does not concern us."""

    id: str
    type: str
    occurred_at: datetime
    state: State | None


@dataclass(frozen=True)
class PaymentUpdate:
    """A checkout in which the payer changes how they pay."""

    transaction_id: str
    checkout_url: str | None


class BillingProvider(Protocol):
    """Who takes the payments. Safe to share between greenlets."""

    def cancel(self, provider_id: str, *, immediately: bool) -> BillingEvent:
        """Cancel a subscription, now or at the end of its period; the event of its state then.

        Looks before it leaps: what is already ended or going to end is not canceled again, and a call whose answer was
        lost is looked up before it is repeated.

        Raises:
            UnknownSubscription: there is none.
            Rejected: the provider refuses.
            Absent, Late, Broken, Throttled: it cannot be asked; nothing is known to have changed.
        """

    def payment_update(self, provider_id: str) -> PaymentUpdate:
        """A checkout for another payment method. Raises as `cancel`."""

    def happened(self, since: datetime) -> Iterator[BillingEvent]:
        """What happened since, newest first, as far as the provider remembers."""

    def standing(self, since: datetime) -> Iterator[BillingEvent]:
        """The present state of every customer and subscription, and of the payments and refunds changed since."""

    def notification(self, signature: str | None, body: bytes, now: datetime) -> BillingEvent:
        """Read what the provider sent.

        Raises:
            Forged: it is not signed with a live secret, or not within 300 s of `now`.
            Unreadable: it is signed, but makes no sense.
        """
