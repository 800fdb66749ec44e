"""Reconciliation with the payment provider: missing notifications are stored afterwards.

The events come first, with the provider's ids, so that none counts twice. The present states follow, for changes that
are older than the event history. Each event has a separate transaction, and no call runs inside of one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa
import structlog

from app.database import transactions
from app.drivers.billing.port import BillingProvider, ProviderEvent, State
from app.extensions import db
from app.models import order as tables
from app.models.base import utcnow_ms
from app.resources.order.event_store import store_event
from app.resources.order.projection import to_json

log = structlog.get_logger(__name__)

RECONCILED_PERIOD = timedelta(days=7)
"""Seven missed nights are covered."""


@dataclass(frozen=True)
class ReconciliationResult:
    """Number of examined and of stored events."""

    examined: int
    stored: int


def reconcile(billing: BillingProvider, *, looks_back: timedelta = RECONCILED_PERIOD) -> ReconciliationResult:
    """Store missing events.

    Raises:
        DriverError: the provider cannot be reached. Events that were already stored remain.
    """
    since = utcnow_ms() - looks_back
    examined = stored = 0
    for events in (billing.list_events(since), _changed(billing.current_state(since))):
        for event in events:
            examined += 1
            stored += _store(event)
    log_result = log.info if stored else log.debug
    log_result("billing.reconciled", examined=examined, stored=stored)
    return ReconciliationResult(examined, stored)


def _store(event: ProviderEvent) -> bool:
    if (
        event.state is None
        or _first(sa.select(tables.BillingEvent).where(tables.BillingEvent.id == event.id)) is not None
    ):
        return False
    with transactions.write_transaction():
        return store_event(event)


def _changed(events: Iterable[ProviderEvent]) -> Iterable[ProviderEvent]:
    """Return the events that differ from the newest stored event of their entity."""
    return (event for event in events if event.state is not None and _is_new(event, event.state))


def _is_new(event: ProviderEvent, state: State) -> bool:
    table = tables.BillingEvent
    newest = _first(
        sa.select(table)
        .where(table.entity_id == state.provider_id)
        .order_by(table.occurred_at.desc(), table.id.desc())
        .limit(1)
    )
    return newest is None or (newest.occurred_at < event.occurred_at and newest.state != to_json(state))


def _first(statement: sa.Select[tables.BillingEvent]) -> tables.BillingEvent | None:
    """Return the first row and return the connection: the next page of events is an outbound call."""
    event = db.session.scalar(statement)
    transactions.release_connection()
    return event
