"""The outbox: a message and its deliveries are written in the transaction of the event.

The number of a message in its project comes from a row that stays locked until the commit, so numbers have the order of
the commits.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import orjson
import sqlalchemy as sa

from app.core import clock
from app.core.ids import new_id
from app.core.limits import WebhookLimits
from app.database.inserts import insert_or_update
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.outbound_webhook import (
    DeliveryState,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookFormat,
    WebhookMessage,
    WebhookProject,
    WebhookState,
)
from app.resources.outbound_webhook import wakeups
from app.resources.outbound_webhook.event_types import EventType

INTERVAL = timedelta(seconds=WebhookLimits.deploy_interval_s)
Endpoint = sa.Row[str, WebhookFormat, list[str], WebhookState, datetime | None]

_E, _D = WebhookEndpoint, WebhookDelivery
_COLUMNS = (_E.id, _E.format, _E.events, _E.state, _E.called_at)
# The lock excludes a deletion only. Without it, the insert of a delivery could violate its foreign key.
_RECEIVERS = (
    sa.select(*_COLUMNS)
    .where(
        _E.organization_id == sa.bindparam("organization_id"),
        sa.or_(_E.project_id.is_(None), _E.project_id == sa.bindparam("project_id")),
        _E.is_closing.is_(False),
    )
    .order_by(_E.id)
    .with_for_update(read=True, key_share=True)
)
_ONE = sa.select(*_COLUMNS).where(_E.id == sa.bindparam("endpoint_id")).with_for_update(read=True, key_share=True)
# The lock delays the call until the commit: it covers this event then.
_UNCALLED = (
    sa.select(_D.id)
    .where(_D.endpoint_id == sa.bindparam("endpoint_id"), _D.state == DeliveryState.WAITING, _D.called_at.is_(None))
    .limit(1)
    .with_for_update()
)


def publish(
    event: EventType,
    data: Mapping[str, object],
    *,
    organization_id: str,
    project_id: str | None = None,
    is_deployed: bool = False,
) -> None:
    """Store the message of an event for each endpoint that receives it, and enqueue its deliveries.

    With `is_deployed`, the deploy hooks of the project are called as well.
    """
    rows = db.session.execute(_RECEIVERS, {"organization_id": organization_id, "project_id": project_id})
    receivers = [row for row in rows if _receives(row, event, is_deployed=is_deployed)]
    if receivers:
        _store(event, data, receivers, organization_id=organization_id, project_id=project_id)


def publish_to(endpoint: WebhookEndpoint, event: EventType, data: Mapping[str, object]) -> str:
    """Store a message for one endpoint. Return the id of its delivery, or of the waiting call of a deploy hook."""
    rows = db.session.execute(_ONE, {"endpoint_id": endpoint.id}).all()
    [delivery_id] = _store(event, data, rows, organization_id=endpoint.organization_id, project_id=None)
    return delivery_id


def _receives(endpoint: Endpoint, event: EventType, *, is_deployed: bool) -> bool:
    return is_deployed if endpoint.format == WebhookFormat.EMPTY else event.name in endpoint.events


def _store(
    event: EventType,
    data: Mapping[str, object],
    receivers: Sequence[Endpoint],
    *,
    organization_id: str,
    project_id: str | None,
) -> list[str]:
    """Store a message with its deliveries, and return the ids of the deliveries."""
    calls = {endpoint.id: _waiting_call(endpoint) for endpoint in receivers}
    uncovered = [endpoint for endpoint in receivers if calls[endpoint.id] is None]
    if uncovered:
        now, message_id = utcnow_ms(), new_id("msg")
        _insert_message(event, data, message_id, now, organization_id=organization_id, project_id=project_id)
        rows = [_delivery(endpoint, message_id, now) for endpoint in uncovered]
        db.session.execute(sa.insert(WebhookDelivery), rows)
        for endpoint, row in zip(uncovered, rows, strict=True):
            calls[endpoint.id] = str(row["id"])
            if endpoint.state == WebhookState.ACTIVE:
                wakeups.enqueue(endpoint.id, at=row["next_at"], now=now)
    return [str(calls[endpoint.id]) for endpoint in receivers]


def _insert_message(
    event: EventType,
    data: Mapping[str, object],
    message_id: str,
    now: datetime,
    *,
    organization_id: str,
    project_id: str | None,
) -> None:
    sequence = None if project_id is None else _next_number(project_id)
    numbered = dict(data) if sequence is None else {**data, "sequence": sequence}
    values = {
        "id": message_id,
        "organization_id": organization_id,
        "project_id": project_id,
        "type": event.name,
        "sequence": sequence,
        "body": orjson.dumps({"type": event.name, "timestamp": clock.iso(now), "data": numbered}),
        "created_at": now,
    }
    db.session.execute(sa.insert(WebhookMessage), values)


def _next_number(project_id: str) -> int:
    values = {"project_id": project_id, "sequence": 1, "is_disconnected": False}
    changes = {"sequence": WebhookProject.sequence + 1}
    statement = insert_or_update(
        db.engine.dialect.name, WebhookProject, values, unique=("project_id",), changes=changes
    )
    return int(db.session.execute(statement.returning(WebhookProject.sequence)).scalar_one())


def _waiting_call(endpoint: Endpoint) -> str | None:
    """Return the delivery of a deploy hook that was not called yet: its call covers this event."""
    if endpoint.format != WebhookFormat.EMPTY or endpoint.state == WebhookState.DISABLED:
        return None
    return db.session.scalar(_UNCALLED, {"endpoint_id": endpoint.id})


def _delivery(endpoint: Endpoint, message_id: str, now: datetime) -> dict[str, Any]:
    is_disabled = endpoint.state == WebhookState.DISABLED
    is_limited = endpoint.format == WebhookFormat.EMPTY and endpoint.called_at is not None
    return {
        "id": new_id("dlv"),
        "message_id": message_id,
        "endpoint_id": endpoint.id,
        "state": DeliveryState.DISCARDED if is_disabled else DeliveryState.WAITING,
        "next_at": max(now, endpoint.called_at + INTERVAL) if is_limited else now,
        "attempts": 0,
        "called_at": None,
        "created_at": now,
    }
