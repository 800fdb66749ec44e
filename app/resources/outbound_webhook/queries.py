"""Statements that read webhooks and their deliveries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from app.core.cursors import decode_cursor, paginate
from app.extensions import db
from app.models.outbound_webhook import (
    DeliveryState,
    WebhookAttempt,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookFormat,
    WebhookMessage,
    WebhookState,
)
from app.models.project import Project
from app.resources.outbound_webhook.schemas.events import event_types

MAX_ATTEMPTS = 50
_D, _M = WebhookDelivery, WebhookMessage
_ROW = sa.select(_D, _M.type, _M.project_id, _M.sequence).join(_M, _M.id == _D.message_id)

DeliveryRow = sa.Row[WebhookDelivery, str, str | None, int | None]
"""A delivery with the type, the project and the number of its message."""


@dataclass(frozen=True)
class DeliveryPage:
    """A page of deliveries, newest first."""

    rows: Sequence[DeliveryRow]
    total: int
    next_cursor: str | None


@dataclass(frozen=True)
class DeliveryDetails:
    """A delivery with the body of its message and its newest attempts."""

    row: DeliveryRow
    body: bytes | None
    attempts: Sequence[WebhookAttempt]


def of_organization(organization_id: str) -> Sequence[WebhookEndpoint]:
    """Return the webhooks of an organization, oldest first."""
    statement = sa.select(WebhookEndpoint).where(WebhookEndpoint.organization_id == organization_id)
    return db.session.scalars(statement.order_by(WebhookEndpoint.id)).all()


def reports(project: Project) -> bool:
    """Return whether a webhook of the project or of its organization receives the commits of the project."""
    statement = sa.select(WebhookEndpoint.format, WebhookEndpoint.events).where(
        WebhookEndpoint.organization_id == project.organization_id,
        sa.or_(WebhookEndpoint.project_id.is_(None), WebhookEndpoint.project_id == project.id),
        WebhookEndpoint.state != WebhookState.DISABLED,
    )
    deployed = {event_type.name for event_type in event_types.values() if event_type.is_deployed}
    rows = db.session.execute(statement)
    return any(row.format == WebhookFormat.EMPTY or not deployed.isdisjoint(row.events) for row in rows)


def newest_deliveries(organization_id: str) -> Mapping[str, DeliveryRow]:
    """Return the newest delivery of each webhook of an organization by the id of the webhook."""
    newest = sa.select(sa.func.max(_D.id)).where(_D.endpoint_id == WebhookEndpoint.id).scalar_subquery()
    ids = sa.select(newest).where(WebhookEndpoint.organization_id == organization_id)
    return {row[0].endpoint_id: row for row in db.session.execute(_ROW.where(_D.id.in_(ids)))}


def last_build(project: Project) -> WebhookDelivery | None:
    """Return the newest request to build the site of a project, or None."""
    newest = sa.select(sa.func.max(_D.id)).where(_D.endpoint_id == WebhookEndpoint.id).scalar_subquery()
    own = WebhookEndpoint.project_id == project.id, WebhookEndpoint.format == WebhookFormat.EMPTY
    statement = sa.select(_D).where(_D.id.in_(sa.select(newest).where(*own)))
    return db.session.scalars(statement.order_by(_D.id.desc()).limit(1)).first()


def deliveries(
    endpoint_id: str,
    *,
    limit: int,
    cursor: str | None,
    state: DeliveryState | None,
    event_type: str | None,
    since: datetime | None,
) -> DeliveryPage:
    """Return a page of the deliveries of a webhook."""
    conditions = [_D.endpoint_id == endpoint_id]
    if state is not None:
        conditions.append(_D.state == state)
    if event_type is not None:
        conditions.append(_M.type == event_type)
    if since is not None:
        conditions.append(_D.created_at >= since)
    counted = sa.select(sa.func.count()).select_from(_D)
    if event_type is not None:
        counted = counted.join(_M, _M.id == _D.message_id)
    total = db.session.scalar(counted.where(*conditions)) or 0
    if cursor:
        conditions.append(_D.id < decode_cursor(cursor, "deliveries"))
    rows = db.session.execute(_ROW.where(*conditions).order_by(_D.id.desc()).limit(limit + 1)).all()
    page, next_cursor = paginate(rows, limit, "deliveries", lambda row: row[0].id)
    return DeliveryPage(page, total, next_cursor)


def delivery(delivery_id: str) -> DeliveryRow:
    """Return a delivery. Raises NoResultFound."""
    return db.session.execute(_ROW.where(_D.id == delivery_id)).one()


def details(delivery_id: str) -> DeliveryDetails:
    """Return a delivery with its body and attempts. Raises NoResultFound."""
    body = db.session.scalar(sa.select(_M.body).join(_D, _D.message_id == _M.id).where(_D.id == delivery_id))
    attempts = db.session.scalars(
        sa.select(WebhookAttempt)
        .where(WebhookAttempt.delivery_id == delivery_id)
        .order_by(WebhookAttempt.id.desc())
        .limit(MAX_ATTEMPTS)
    ).all()
    return DeliveryDetails(delivery(delivery_id), body, attempts)
