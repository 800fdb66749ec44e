"""The outbox: a message, its deliveries and the calls that deliver it are written in the transaction of the event.

The number of a message in its project comes from a row that stays locked until the commit, so numbers have the order of
the commits.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.sql.dml import Insert

from app.core import clock
from app.core.ids import new_id
from app.core.limits import WebhookLimits
from app.database.inserts import insert_or_update
from app.extensions import db, jobs
from app.models.base import Row, utcnow_ms
from app.models.outbound_webhook import (
    DeliveryState,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookFormat,
    WebhookMessage,
    WebhookProject,
    WebhookState,
)
from app.models.project import Project
from app.resources.outbound_webhook.schemas.events import EventType

INTERVAL = timedelta(seconds=WebhookLimits.deploy_interval_s)
DELIVER, WAKE = "outbound_webhooks.deliver", "outbound_webhooks.wake"
SLOT_S = 5
"""Delayed calls of an endpoint that start in the same period are one call."""

# Statements of tables, built once: those of mapped classes cost twice as much, and each save runs them.
_E: sa.Table = sa.inspect(WebhookEndpoint).local_table  # type: ignore[assignment]
_D: sa.Table = sa.inspect(WebhookDelivery).local_table  # type: ignore[assignment]
_M: sa.Table = sa.inspect(WebhookMessage).local_table  # type: ignore[assignment]
_P: sa.Table = sa.inspect(Project).local_table  # type: ignore[assignment]
_COLUMNS = (_E.c.id, _E.c.format, _E.c.events, _E.c.state, _E.c.called_at)
# The lock excludes a deletion only. Without it, the insert of a delivery could violate its foreign key.
_OF_ORGANIZATION = (
    sa.select(*_COLUMNS)
    .where(
        _E.c.organization_id == sa.bindparam("organization_id"),
        sa.or_(_E.c.project_id.is_(None), _E.c.project_id == sa.bindparam("project_id")),
        _E.c.is_closing.is_(False),
    )
    .order_by(_E.c.id)
    .with_for_update(read=True, key_share=True)
)
_OF_PROJECT = (
    sa.select(*_COLUMNS, _P.c.organization_id, _P.c.branch)
    .join(_P, _P.c.organization_id == _E.c.organization_id)
    .where(
        _P.c.id == sa.bindparam("project_id"),
        sa.or_(_E.c.project_id.is_(None), _E.c.project_id == _P.c.id),
        _E.c.is_closing.is_(False),
    )
    .order_by(_E.c.id)
    .with_for_update(read=True, key_share=True, of=_E)
)
_LOCKED_ENDPOINT = (
    sa.select(*_COLUMNS).where(_E.c.id == sa.bindparam("endpoint_id")).with_for_update(read=True, key_share=True)
)
# The lock delays the call until the commit: it covers this event then.
_UNCALLED = (
    sa.select(_D.c.id)
    .where(_D.c.endpoint_id == sa.bindparam("endpoint_id"), _D.c.state == DeliveryState.WAITING)
    .where(_D.c.called_at.is_(None))
    .limit(1)
    .with_for_update()
)
_INSERT_MESSAGE, _INSERT_DELIVERIES = sa.insert(_M), sa.insert(_D)
_END = "}}"
"""The end of a body: of `data`, and of the event."""


def publish(
    event: EventType, data: Mapping[str, object], *, organization_id: str, project_id: str | None = None
) -> None:
    """Store the message of an event for each endpoint that receives it, and enqueue its deliveries."""
    ids = {"organization_id": organization_id, "project_id": project_id}
    receivers = [row for row in _rows(_OF_ORGANIZATION, ids) if _receives(row, event)]
    if receivers:
        _store(event, data, receivers, organization_id=organization_id, project_id=project_id)


def publish_of_project(
    event: EventType, data: Mapping[str, object], *, project_id: str, branch: str | None = None
) -> None:
    """Store the message of an event of a project, as `publish` does. `project_id` becomes a part of its data.

    An event of the working branch calls the deploy hooks of the project, if its type is one of a deployment.
    """
    rows = _rows(_OF_PROJECT, {"project_id": project_id})
    if not rows:
        return
    is_deployed = event.is_deployed and branch == rows[0].branch
    receivers = [row for row in rows if _receives(row, event, is_deployed=is_deployed)]
    if receivers:
        own = {"project_id": project_id, **data}
        _store(event, own, receivers, organization_id=rows[0].organization_id, project_id=project_id)


def publish_to(endpoint: WebhookEndpoint, event: EventType, data: Mapping[str, object]) -> str:
    """Store a message for one endpoint. Return the id of its delivery, or of the waiting call of a deploy hook."""
    rows = _rows(_LOCKED_ENDPOINT, {"endpoint_id": endpoint.id})
    [delivery_id] = _store(event, data, rows, organization_id=endpoint.organization_id, project_id=None)
    return delivery_id


def _rows(statement: sa.Select[*tuple[Any, ...]], ids: Mapping[str, object]) -> Sequence[Row]:
    db.session.flush()
    return db.session.connection().execute(statement, ids).all()


def _receives(endpoint: Row, event: EventType, *, is_deployed: bool = False) -> bool:
    return is_deployed if endpoint.format == WebhookFormat.EMPTY else event.name in endpoint.events


def _store(
    event: EventType,
    data: Mapping[str, object],
    receivers: Sequence[Row],
    *,
    organization_id: str,
    project_id: str | None,
) -> list[str]:
    """Store a message with its deliveries, and return the ids of the deliveries."""
    calls = {endpoint.id: _waiting_call(endpoint) for endpoint in receivers}
    uncovered = [endpoint for endpoint in receivers if calls[endpoint.id] is None]
    if uncovered:
        now, message_id = utcnow_ms(), new_id("msg")
        rows = [_delivery(endpoint, message_id, now) for endpoint in uncovered]
        text = orjson.dumps({"type": event.name, "timestamp": clock.iso(now), "data": data})
        message = {
            "id": message_id,
            "organization_id": organization_id,
            "project_id": project_id,
            "type": event.name,
            "created_at": now,
        }
        _insert(message, text, rows)
        for endpoint, row in zip(uncovered, rows, strict=True):
            calls[endpoint.id] = str(row["id"])
            if endpoint.state == WebhookState.ACTIVE:
                enqueue_delivery(endpoint.id, at=row["next_at"], now=now)
    return [str(calls[endpoint.id]) for endpoint in receivers]


def _insert(message: dict[str, Any], text: bytes, rows: list[dict[str, Any]]) -> None:
    """Insert a message and its deliveries. `data.sequence` is the last member of the body of an event of a project."""
    connection, project_id, sequence = db.session.connection(), message["project_id"], None
    if project_id is not None:
        sequence = connection.execute(_next_number(connection.dialect.name), {"project_id": project_id}).scalar_one()
        text = b'%b,"sequence":%d}}' % (text[: -len(_END)], sequence)
    connection.execute(_INSERT_MESSAGE, message | {"sequence": sequence, "body": text})
    connection.execute(_INSERT_DELIVERIES, rows)


@cache
def _next_number(dialect: str) -> Insert:
    values = {"project_id": sa.bindparam("project_id"), "sequence": 1, "is_disconnected": False}
    changes = {"sequence": WebhookProject.sequence + 1}
    statement = insert_or_update(dialect, WebhookProject, values, unique=("project_id",), changes=changes)
    return statement.returning(WebhookProject.sequence)


def _waiting_call(endpoint: Row) -> str | None:
    """Return the delivery of a deploy hook that was not called yet: its call covers this event."""
    if endpoint.format != WebhookFormat.EMPTY or endpoint.state == WebhookState.DISABLED:
        return None
    delivery_id: str | None = db.session.connection().scalar(_UNCALLED, {"endpoint_id": endpoint.id})
    return delivery_id


def _delivery(endpoint: Row, message_id: str, now: datetime) -> dict[str, Any]:
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


def enqueue_delivery(endpoint_id: str, *, at: datetime, now: datetime) -> None:
    """Enqueue the delivery of the messages of an endpoint that are due at a time.

    A waiting call blocks later calls with the same lock, so the call with the lock of an endpoint has no delay. A
    delayed call has no lock and enqueues the other one.
    """
    if at <= now:
        key = f"{DELIVER}:{endpoint_id}"
        jobs.enqueue(DELIVER, unique=key, lock=f"outbound_webhooks:{endpoint_id}", endpoint_id=endpoint_id)
    else:
        _enqueue_later(endpoint_id, at - now, int(at.timestamp()) // SLOT_S)


def _enqueue_later(endpoint_id: str, delay: timedelta, slot: int) -> None:
    jobs.enqueue(WAKE, unique=f"{WAKE}:{endpoint_id}:{slot}", delay=delay, endpoint_id=endpoint_id)
