"""What all known states of one entity say together: pure, and the same whatever the order in which they became known."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from app.drivers.billing.port import PaymentState, RefundState, SubscriptionState, SubscriptionStatus
from app.resources.order.states import Known

MILLION = 1_000_000
MONTHLY = {"day": Fraction(365, 12), "week": Fraction(52, 12), "month": Fraction(1), "year": Fraction(1, 12)}
"""How often an interval fits into a month; a year has 365 days or 52 weeks."""


@dataclass(frozen=True)
class Terms:
    """What a subscription is and bills, as long as it stays the same."""

    status: SubscriptionStatus
    plan: str
    amount_minor: int
    currency: str
    interval: str
    frequency: int

    @property
    def monthly_millionths(self) -> int:
        """What it bills in a month, in millionths of the minor unit; nothing unless it is active."""
        if self.status is not SubscriptionStatus.ACTIVE:
            return 0
        return round(self.amount_minor * MILLION * MONTHLY[self.interval] / self.frequency)


@dataclass(frozen=True)
class Period:
    """When some terms held, from `valid_from` until before `valid_to`; the last one's end is open."""

    valid_from: datetime
    valid_to: datetime | None
    terms: Terms


def periods_of(known: Sequence[Known[SubscriptionState]]) -> list[Period]:
    """The history of a subscription, without gaps; neighbours differ."""
    begun: list[tuple[datetime, Terms]] = []
    for one in known:
        since, terms = _since(one, begun[-1][0] if begun else None), _terms(one.state)
        if begun and begun[-1][0] == since:
            begun.pop()
        if not begun or begun[-1][1] != terms:
            begun.append((since, terms))
    ends = [since for since, _ in begun[1:]] + [None]
    return [Period(since, end, terms) for (since, terms), end in zip(begun, ends, strict=True)]


def started_at(known: Sequence[Known[SubscriptionState]]) -> datetime:
    """When the subscription, or its trial, started."""
    return known[-1].state.started_at or known[0].occurred_at


def canceled_at(known: Sequence[Known[SubscriptionState]]) -> datetime | None:
    """When the subscription ended; None while it has not."""
    if known[-1].state.status is not SubscriptionStatus.CANCELED:
        return None
    ends = [one for one in known if one.state.status is SubscriptionStatus.CANCELED]
    return known[-1].state.canceled_at or ends[0].occurred_at


def completed_at(known: Sequence[Known[PaymentState]]) -> datetime | None:
    """When the money came; None while the payment is not completed."""
    times = [one.state.completed_at for one in known if one.state.completed_at is not None]
    return min(times) if times and known[-1].state.completed_at is not None else None


def approved_at(known: Sequence[Known[RefundState]]) -> datetime | None:
    """When a refund was approved; None when it is not, or no more."""
    return next(one.occurred_at for one in known if one.state.is_approved) if known[-1].state.is_approved else None


def _since(one: Known[SubscriptionState], before: datetime | None) -> datetime:
    """Since when a state holds, which is not before the last one's start.

    What is known first is taken to have been so from the subscription's start (an import finds some that are years
    old), and an end to have come when the provider says it came, even if it was told later.
    """
    since, state = one.occurred_at, one.state
    if state.status is SubscriptionStatus.CANCELED:
        since = min(since, state.canceled_at or since)
    elif before is None:
        since = min(since, state.started_at or since)
    return since if before is None else max(since, before)


def _terms(state: SubscriptionState) -> Terms:
    return Terms(state.status, state.plan, state.amount_minor, state.currency, state.interval, state.frequency)
