"""Values that are derived from all states of one entity, independent of the order of their arrival."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from fractions import Fraction
from typing import Any, Generic, TypeVar, get_args

from app.drivers.billing.port import (
    CustomerState,
    PaymentState,
    PaymentStatus,
    RefundState,
    State,
    SubscriptionState,
    SubscriptionStatus,
)
from app.models.order import BillingEvent

S = TypeVar("S", bound=State)

_STATUSES: dict[type, Any] = {SubscriptionState: SubscriptionStatus, PaymentState: PaymentStatus}
MILLION = 1_000_000
MONTHLY = {"day": Fraction(365, 12), "week": Fraction(52, 12), "month": Fraction(1), "year": Fraction(1, 12)}
"""Number of intervals in a month. A year has 365 days or 52 weeks."""


@dataclass(frozen=True)
class TimedState(Generic[S]):
    """A state with the time of its event."""

    occurred_at: datetime
    state: S


def to_json(state: State) -> dict[str, object]:
    """Return a state with values of JSON's types."""
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in asdict(state).items()}


def from_json(kind: type[S], rows: Sequence[BillingEvent]) -> list[TimedState[S]]:
    """Return the states of one entity, oldest first. Events with the same time are ordered by id."""
    ordered = sorted(rows, key=lambda row: (row.occurred_at, row.id))
    return [TimedState(row.occurred_at, _state(kind, row.state)) for row in ordered]


def customer_of(state: State) -> str:
    """Return the provider's customer id of an entity, or the id of the entity if it has no customer."""
    return state.provider_id if isinstance(state, CustomerState) else state.customer_id or state.provider_id


def _state(kind: type[S], data: dict[str, Any]) -> S:
    times = {field.name for field in fields(kind) if datetime in get_args(field.type)}
    values: dict[str, Any] = {
        name: datetime.fromisoformat(value) if name in times and value else value for name, value in data.items()
    }
    if kind in _STATUSES:
        values["status"] = _STATUSES[kind](values["status"])
    return kind(**values)


@dataclass(frozen=True)
class SubscriptionTerms:
    """The terms of a subscription in one period."""

    status: SubscriptionStatus
    plan: str
    amount_minor: int
    currency: str
    interval: str
    frequency: int

    @property
    def monthly_millionths(self) -> int:
        """Monthly amount in millionths of the minor unit. 0 unless the subscription is active."""
        if self.status is not SubscriptionStatus.ACTIVE:
            return 0
        return round(self.amount_minor * MILLION * MONTHLY[self.interval] / self.frequency)


@dataclass(frozen=True)
class Period:
    """A period with constant terms, from `valid_from` until before `valid_to`. The last one has no end."""

    valid_from: datetime
    valid_to: datetime | None
    terms: SubscriptionTerms


def build_periods(states: Sequence[TimedState[SubscriptionState]]) -> list[Period]:
    """Return the history of a subscription without gaps. Neighbouring periods differ."""
    begun: list[tuple[datetime, SubscriptionTerms]] = []
    for item in states:
        since, state = _since(item, begun[-1][0] if begun else None), item.state
        terms = SubscriptionTerms(
            state.status, state.plan, state.amount_minor, state.currency, state.interval, state.frequency
        )
        if begun and begun[-1][0] == since:
            begun.pop()
        if not begun or begun[-1][1] != terms:
            begun.append((since, terms))
    ends = [since for since, _ in begun[1:]] + [None]
    return [Period(since, end, terms) for (since, terms), end in zip(begun, ends, strict=True)]


def started_at(states: Sequence[TimedState[SubscriptionState]]) -> datetime:
    """Return the start of the subscription or of its trial."""
    return states[-1].state.started_at or states[0].occurred_at


def canceled_at(states: Sequence[TimedState[SubscriptionState]]) -> datetime | None:
    """Return the end of the subscription, or None."""
    if states[-1].state.status is not SubscriptionStatus.CANCELED:
        return None
    ends = [state for state in states if state.state.status is SubscriptionStatus.CANCELED]
    return states[-1].state.canceled_at or ends[0].occurred_at


def completed_at(states: Sequence[TimedState[PaymentState]]) -> datetime | None:
    """Return the time of the payment, or None while it is not completed."""
    times = [state.state.completed_at for state in states if state.state.completed_at is not None]
    return min(times) if times and states[-1].state.completed_at is not None else None


def approved_at(states: Sequence[TimedState[RefundState]]) -> datetime | None:
    """Return the time of the approval, or None if the refund is not approved."""
    return (
        next(state.occurred_at for state in states if state.state.is_approved) if states[-1].state.is_approved else None
    )


def _since(timed: TimedState[SubscriptionState], before: datetime | None) -> datetime:
    """Return the start of a state, which is not before the start of the previous one.

    The first state starts with the subscription, which may be years old in an import. A cancellation starts at the
    time that the provider states, even if its event is later.
    """
    since, state = timed.occurred_at, timed.state
    if state.status is SubscriptionStatus.CANCELED:
        since = min(since, state.canceled_at or since)
    elif before is None:
        since = min(since, state.started_at or since)
    return since if before is None else max(since, before)
