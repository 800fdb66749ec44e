"""Port of payment providers: subscriptions, payments, refunds, customers and their events.

An event contains the complete state of one entity at `occurred_at`. Amounts are minor units of `currency`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from app.drivers.errors import DriverError, UpstreamRejected


class InvalidSignature(DriverError):
    """A notification has no valid or no recent signature of the provider."""


class MalformedEvent(DriverError):
    """A signed notification has invalid content."""


class UnknownSubscription(UpstreamRejected):
    """The provider does not know the subscription, or billing is disabled."""


class SubscriptionStatus(StrEnum):
    """The status of a subscription. `canceled` is final."""

    ACTIVE = "active"
    TRIALING = "trialing"
    PAST_DUE = "past_due"
    PAUSED = "paused"
    CANCELED = "canceled"


class PaymentStatus(StrEnum):
    """The status of a payment."""

    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True)
class SubscriptionState:
    """A subscription that bills `amount_minor` every `frequency` times `interval` (day, week, month, year)."""

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
    """A payment, completed or failed. `user_id` is the user that the checkout names."""

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
    """A refund, or a reversed one with a negative amount. It counts while `is_approved`."""

    provider_id: str
    customer_id: str | None
    payment_id: str
    amount_minor: int
    currency: str
    is_approved: bool


@dataclass(frozen=True)
class CustomerState:
    """A customer of the provider."""

    provider_id: str
    email: str
    user_id: str | None


State = SubscriptionState | PaymentState | RefundState | CustomerState


@dataclass(frozen=True)
class ProviderEvent:
    """An event of the provider. `state` is None for irrelevant events."""

    id: str
    type: str
    occurred_at: datetime
    state: State | None


@dataclass(frozen=True)
class PaymentUpdate:
    """A checkout in which the payer changes the payment method."""

    transaction_id: str
    checkout_url: str | None


class BillingProvider(Protocol):
    """A payment provider. Safe to share between greenlets."""

    def cancel(self, provider_id: str, *, immediately: bool) -> ProviderEvent:
        """Cancel a subscription, now or at the end of its period. Return the event of its new state.

        The state is checked first: a subscription that has ended or will end is not canceled again, and a call without
        a response is looked up before it is repeated.

        Raises:
            UnknownSubscription: the subscription does not exist.
            UpstreamRejected: the provider rejects the request.
            UpstreamUnavailable, UpstreamTimeout, UpstreamError, UpstreamThrottled: the call failed, and the result is
                unknown.
        """

    def payment_update(self, provider_id: str) -> PaymentUpdate:
        """Create a checkout for another payment method. Raises the same errors as `cancel`."""

    def list_events(self, since: datetime) -> Iterator[ProviderEvent]:
        """Yield the events since a time, newest first, as far as the provider stores them."""

    def current_state(self, since: datetime) -> Iterator[ProviderEvent]:
        """Yield the state of every customer and subscription, and of payments and refunds that changed since a time."""

    def parse_notification(self, signature: str | None, body: bytes, now: datetime) -> ProviderEvent:
        """Parse a notification.

        Raises:
            InvalidSignature: it is not signed with a valid secret, or not within 300 s of `now`.
            MalformedEvent: it is signed, but its content is invalid.
        """
