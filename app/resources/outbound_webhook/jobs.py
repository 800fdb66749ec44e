"""Jobs that deliver messages, find due ones whose call was lost, and delete old ones."""

from datetime import timedelta

import sqlalchemy as sa

from app.core.jobs import job
from app.core.limits import WebhookLimits
from app.database import transactions
from app.database.inserts import insert_or_update
from app.drivers.http.pinned import PinnedClient
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.outbound_webhook import (
    DeliveryState,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookMessage,
    WebhookProject,
    WebhookState,
)
from app.models.project import ConnectionStatus, Project
from app.resources.outbound_webhook import delivery, endpoint_state, messages
from app.resources.outbound_webhook.schemas.events import CONNECTION_NEEDS_RECONNECT
from app.resources.system import retention

SWEEP_INTERVAL, PURGE_INTERVAL = timedelta(seconds=30), timedelta(hours=1)
BODY_RETENTION = timedelta(seconds=WebhookLimits.body_retention_s)
RETENTION = timedelta(seconds=WebhookLimits.retention_s)
BATCH_SIZE = 1_000

_E, _D, _M = WebhookEndpoint, WebhookDelivery, WebhookMessage


# Without retries: the engine would delay a call with a lock. The sweep continues after a failure.
@job(messages.DELIVER, retries=0, uses=("webhooks",), outbound=True)
def deliver(*, endpoint_id: str, webhooks: PinnedClient) -> None:
    """Deliver the messages of an endpoint that are due."""
    delivery.run(endpoint_id, webhooks)


@job(messages.WAKE, retries=2, transaction=True)
def wake(*, endpoint_id: str) -> None:
    """Enqueue the delivery of an endpoint."""
    now = utcnow_ms()
    messages.enqueue_delivery(endpoint_id, at=now, now=now)


@job("outbound_webhooks.sweep", every=SWEEP_INTERVAL, retries=0)
def sweep() -> None:
    """Enqueue endpoints with due messages, delete closed ones, and report projects that lost their connection."""
    now = utcnow_ms()
    waits = sa.exists().where(_D.endpoint_id == _E.id, _D.state == DeliveryState.WAITING)
    due = sa.select(_E.id).where(
        _E.state == WebhookState.ACTIVE,
        sa.or_(_E.blocked_until.is_(None), _E.blocked_until <= now),
        waits.where(_D.next_at <= now),
    )
    for endpoint_id in db.session.scalars(due).all():
        with transactions.write_transaction():
            messages.enqueue_delivery(endpoint_id, at=now, now=now)
    for endpoint_id in db.session.scalars(sa.select(_E.id).where(_E.is_closing, ~waits)).all():
        with transactions.write_transaction():
            endpoint_state.delete(endpoint_id)
    _report_connections()


def _report_connections() -> None:
    """Publish `connection.needs_reconnect` for each project that lost its connection. Forget those that have one again.

    Several packages mark projects, some outside of the transaction of a request, so the marks are compared with those
    that were reported.
    """
    is_disconnected = Project.connection_status == ConnectionStatus.NEEDS_RECONNECT
    is_reported = sa.func.coalesce(WebhookProject.is_disconnected, sa.false())
    changed = (
        sa.select(Project.id)
        .outerjoin(WebhookProject, WebhookProject.project_id == Project.id)
        .where(
            Project.organization_id.in_(sa.select(WebhookEndpoint.organization_id)),
            Project.repository != "",
            is_disconnected != is_reported,
        )
    )
    for project_id in db.session.scalars(changed).all():
        with transactions.locked_row(Project, project_id) as project:
            if project is not None:
                _report_connection(project)


def _report_connection(project: Project) -> None:
    is_disconnected = project.connection_status == ConnectionStatus.NEEDS_RECONNECT
    row = db.session.get(WebhookProject, project.id, populate_existing=True)
    if (row is not None and row.is_disconnected) == is_disconnected:
        return
    changes: dict[str, object] = {"is_disconnected": is_disconnected}
    values = {"project_id": project.id, "sequence": 0, **changes}
    statement = insert_or_update(
        db.engine.dialect.name, WebhookProject, values, unique=("project_id",), changes=changes
    )
    db.session.execute(statement)
    if is_disconnected:
        data = {"project_id": project.id, "provider": str(project.provider), "repository": project.repository}
        messages.publish(
            CONNECTION_NEEDS_RECONNECT, data, organization_id=project.organization_id, project_id=project.id
        )


@job("outbound_webhooks.purge", every=PURGE_INTERVAL, retries=2)
def purge() -> None:
    """Delete the bodies of messages after 30 days, and messages with their deliveries after 90 days."""
    now = utcnow_ms()
    retention.purge(_M, _M.created_at < now - RETENTION)
    old = sa.select(_M.id).where(_M.created_at < now - BODY_RETENTION, _M.body.is_not(None)).limit(BATCH_SIZE)
    while ids := db.session.scalars(old).all():
        with transactions.write_transaction():
            waiting = (_D.message_id.in_(ids), _D.state == DeliveryState.WAITING)
            for statement in (
                sa.update(_D).where(*waiting).values(state=DeliveryState.DISCARDED),
                sa.update(_M).where(_M.id.in_(ids)).values(body=None),
            ):
                db.session.execute(statement, execution_options={"synchronize_session": False})
