"""Changes of the state of endpoints by the service: failures, the end of a project, and the mail to admins."""

from typing import Any

import sqlalchemy as sa

from app.core.permissions import Role
from app.extensions import current_settings, db
from app.models.base import utcnow_ms
from app.models.organization import Membership
from app.models.outbound_webhook import (
    DeliveryState,
    DisabledReason,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookState,
)
from app.models.user import User
from app.resources.outbound_webhook import messages
from app.resources.outbound_webhook.schemas.events import WEBHOOK_DISABLED
from app.resources.user.mail import notify

MAIL = "webhook_disabled"


def locked(endpoint_id: str) -> WebhookEndpoint | None:
    """Lock an endpoint and return its present row, or None. The lock permits inserts of deliveries."""
    return db.session.scalar(
        sa.select(WebhookEndpoint)
        .where(WebhookEndpoint.id == endpoint_id)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    )


def change(endpoint_id: str, **values: Any) -> None:
    """Change columns that a delivery sets. The time of the last change by a user stays."""
    db.session.execute(
        sa.update(WebhookEndpoint)
        .where(WebhookEndpoint.id == endpoint_id)
        .values(**values, updated_at=WebhookEndpoint.updated_at),
        execution_options={"synchronize_session": False},
    )


def disable(endpoint: WebhookEndpoint, reason: DisabledReason) -> None:
    """Disable a locked endpoint, discard its waiting messages and mail the owner and the admins."""
    change(endpoint.id, state=WebhookState.DISABLED, disabled_reason=reason, blocked_until=None)
    db.session.flush()
    db.session.execute(
        sa.update(WebhookDelivery)
        .where(WebhookDelivery.endpoint_id == endpoint.id, WebhookDelivery.state == DeliveryState.WAITING)
        .values(state=DeliveryState.DISCARDED),
        execution_options={"synchronize_session": False},
    )
    data = {
        "webhook_id": endpoint.id,
        "project_id": endpoint.project_id,
        "host": endpoint.host,
        "reason": str(reason),
    }
    project_id = None if endpoint.is_closing else endpoint.project_id
    messages.publish(WEBHOOK_DISABLED, data, organization_id=endpoint.organization_id, project_id=project_id)
    for user in _managers(endpoint.organization_id):
        notify(user, MAIL, host=endpoint.host, link=current_settings().server.web_url)


def close_of_project(project_id: str) -> None:
    """Let the endpoints of a project deliver what waits. They receive no further messages and are deleted then."""
    db.session.execute(
        sa.update(WebhookEndpoint)
        .where(WebhookEndpoint.project_id == project_id)
        .values(is_closing=True, updated_at=utcnow_ms()),
        execution_options={"synchronize_session": False},
    )


def delete(endpoint_id: str) -> None:
    """Delete an endpoint with its deliveries."""
    db.session.execute(
        sa.delete(WebhookEndpoint).where(WebhookEndpoint.id == endpoint_id),
        execution_options={"synchronize_session": False},
    )


def _managers(organization_id: str) -> list[User]:
    statement = (
        sa.select(User)
        .join(Membership, Membership.user_id == User.id)
        .where(Membership.organization_id == organization_id, Membership.role.in_((Role.OWNER, Role.ADMIN)))
        .order_by(User.id)
    )
    return list(db.session.scalars(statement))
