"""Conversion of billing states to stored JSON and back."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, Generic, TypeVar, get_args

from app.drivers.billing.port import (
    CustomerState,
    PaymentState,
    PaymentStatus,
    State,
    SubscriptionState,
    SubscriptionStatus,
)
from app.models.order import BillingEvent

S = TypeVar("S", bound=State)

_STATUSES: dict[type, Any] = {SubscriptionState: SubscriptionStatus, PaymentState: PaymentStatus}


@dataclass(frozen=True)
class TimedState(Generic[S]):
    """A state with the time of its event."""

    occurred_at: datetime
    state: S


def to_json(state: State) -> dict[str, Any]:
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
