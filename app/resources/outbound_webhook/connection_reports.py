"""The event `connection.needs_reconnect`.

Several packages mark projects, some outside of the transaction of a request, so a periodic job compares the marks with
those that it has reported.
"""

import sqlalchemy as sa

from app.database import transactions
from app.database.inserts import insert_or_update
from app.extensions import db
from app.models.outbound_webhook import WebhookEndpoint, WebhookProject
from app.models.project import ConnectionStatus, Project
from app.resources.outbound_webhook import messages
from app.resources.outbound_webhook.schemas.events import CONNECTION_NEEDS_RECONNECT


def report() -> None:
    """Publish the event for each project that lost its connection, and forget those that are connected again."""
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
                _report(project)


def _report(project: Project) -> None:
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
