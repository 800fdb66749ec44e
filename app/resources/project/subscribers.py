"""How projects follow their organization and the people who connected them."""

import sqlalchemy as sa

from app.extensions import db
from app.models.organization import Membership, Organization
from app.models.project import ConnectionStatus, Project, Provider
from app.models.user import User
from app.resources.organization.events import member_left, organization_deleting
from app.resources.project import service
from app.resources.project.events import project_deleting, project_moved
from app.resources.user.events import user_deleting


@organization_deleting.subscribe
def announce_projects(organization: Organization) -> None:
    """Announce each project: its rows go with the organization's, what lives outside needs to be told."""
    for project in db.session.scalars(sa.select(Project).where(Project.organization_id == organization.id)).all():
        project_deleting.announce(project)


@member_left.subscribe
def lose_member(organization: Organization, user_id: str) -> None:
    """Mark the organization's projects that hang on that member's credential."""
    service.lose_connections(user_id, organization.id)


@project_moved.subscribe
def check_connection(project: Project, _came_from: str) -> None:
    """Mark a project that hangs on the credential of somebody who is no member where it is now."""
    by = project.connected_by
    if project.provider == Provider.LOCAL or project.installation_id is not None or by is None:
        return
    if db.session.get(Membership, (project.organization_id, by)) is None:
        project.connection_status = ConnectionStatus.NEEDS_RECONNECT


@user_deleting.subscribe
def lose_user(user: User) -> None:
    """Mark every project that hangs on that user's credential."""
    service.lose_connections(user.id)
