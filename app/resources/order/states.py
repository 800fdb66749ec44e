"""States of billing entities as they are kept with their events, and back."""

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
class Known(Generic[S]):
    """A state, and since when it is known to have been so."""

    occurred_at: datetime
    state: S


def packed(state: State) -> dict[str, Any]:
    """A state as JSON can hold it."""
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in asdict(state).items()}


def unpacked(kind: type[S], rows: Sequence[BillingEvent]) -> list[Known[S]]:
    """The states of one entity, oldest first. What was told of the same moment is ordered by the events' ids."""
    ordered = sorted(rows, key=lambda row: (row.occurred_at, row.id))
    return [Known(row.occurred_at, _state(kind, row.state)) for row in ordered]


def customer_of(state: State) -> str:
    """Whose the entity is at the provider; one without a customer stands for itself."""
    return state.provider_id if isinstance(state, CustomerState) else state.customer_id or state.provider_id


def _state(kind: type[S], data: dict[str, Any]) -> S:
    times = {field.name for field in fields(kind) if datetime in get_args(field.type)}
    values: dict[str, Any] = {
        name: datetime.fromisoformat(value) if name in times and value else value for name, value in data.items()
    }
    if kind in _STATUSES:
        values["status"] = _STATUSES[kind](values["status"])
    return kind(**values)
