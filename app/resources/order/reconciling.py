"""Comparing with the payment provider: what its notifications did not bring is taken in as if they had.

First what happened, with the provider's own event ids, so that nothing counts twice; then what is so now, for what is
older than its memory. Each event is taken in by a transaction of its own; the network is waited for outside of any.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa
import structlog

from app import transactions
from app.drivers.billing.port import BillingEvent, BillingProvider, State
from app.extensions import db
from app.models import order as tables
from app.models.base import moment
from app.resources.order.recording import record
from app.resources.order.states import packed

log = structlog.get_logger(__name__)

LOOKS_BACK = timedelta(days=7)
"""Seven missed nights are made up for."""


@dataclass(frozen=True)
class Outcome:
    """How many events the provider remembers, and how many were news."""

    looked_at: int
    taken_in: int


def reconcile(billing: BillingProvider, *, looks_back: timedelta = LOOKS_BACK) -> Outcome:
    """Take in what is missing.

    Raises:
        DriverError: the provider cannot be asked; what was taken in before stays.
    """
    transactions.start_reading()
    since = moment() - looks_back
    looked_at = taken_in = 0
    for events in (billing.happened(since), _changed(billing.standing(since))):
        for event in events:
            looked_at += 1
            taken_in += _take_in(event)
    transactions.rest()
    log.info("billing.reconciled", looked_at=looked_at, taken_in=taken_in)
    return Outcome(looked_at, taken_in)


def _take_in(event: BillingEvent) -> bool:
    if event.state is None or db.session.get(tables.BillingEvent, event.id) is not None:
        return False
    with transactions.writing():
        return record(event)


def _changed(events: Iterable[BillingEvent]) -> Iterable[BillingEvent]:
    """What says something else than the newest that is known of the same entity."""
    return (event for event in events if event.state is not None and _is_news(event, event.state))


def _is_news(event: BillingEvent, state: State) -> bool:
    table = tables.BillingEvent
    newest = db.session.scalar(
        sa.select(table)
        .where(table.entity_id == state.provider_id)
        .order_by(table.occurred_at.desc(), table.id.desc())
        .limit(1)
    )
    return newest is None or (newest.occurred_at < event.occurred_at and newest.state != packed(state))
