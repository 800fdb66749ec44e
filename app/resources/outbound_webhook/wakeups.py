"""Job calls that deliver the messages of an endpoint.

A waiting call blocks later calls with the same lock, so the call with the lock of an endpoint has no delay. A delayed
call has no lock and enqueues the other one.
"""

from datetime import datetime, timedelta

from app.extensions import jobs

DELIVER, WAKE = "outbound_webhooks.deliver", "outbound_webhooks.wake"
SLOT_S = 5
"""Delayed calls of an endpoint that start in the same period are one call."""


def enqueue(endpoint_id: str, *, at: datetime, now: datetime) -> None:
    """Enqueue the delivery of the messages of an endpoint that are due at a time."""
    if at <= now:
        key = f"{DELIVER}:{endpoint_id}"
        jobs.enqueue(DELIVER, unique=key, lock=f"outbound_webhooks:{endpoint_id}", endpoint_id=endpoint_id)
    else:
        _enqueue_later(endpoint_id, at - now, int(at.timestamp()) // SLOT_S)


def _enqueue_later(endpoint_id: str, delay: timedelta, slot: int) -> None:
    jobs.enqueue(WAKE, unique=f"{WAKE}:{endpoint_id}:{slot}", delay=delay, endpoint_id=endpoint_id)
