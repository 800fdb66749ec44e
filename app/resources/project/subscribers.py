"""Reactions of projects to changes of their organizations and of the users who connected them."""

import sqlalchemy as sa

from app.extensions import db, jobs
from app.models.organization import Membership, Organization
from app.models.project import ConnectionStatus, Project
from app.models.user import User
from app.resources.organization.events import membership_ended, organization_deleting
from app.resources.project import service
from app.resources.project.events import project_connected, project_deleting, project_moved
from app.resources.user.events import user_deleting


@project_connected.subscribe
@project_deleting.subscribe
def follow_branch(project: Project) -> None:
    """Enqueue the job that sets HEAD of a local repository."""
    if project.is_local and project.repository:
        name = f"project.follow_branch:{project.repository}"
        jobs.enqueue("project.follow_branch", repository=project.repository, unique=name, lock=name, priority=10)


@organization_deleting.subscribe
def announce_projects(organization: Organization) -> None:
    """Publish the deletion of each project. Foreign keys delete the rows."""
    for project in db.session.scalars(sa.select(Project).where(Project.organization_id == organization.id)).all():
        project_deleting.publish(project)


@membership_ended.subscribe
def disconnect_member_projects(organization: Organization, user_id: str) -> None:
    """Mark the projects of the organization that use the credential of the member."""
    service.mark_disconnected(user_id, organization.id)


@project_moved.subscribe
def check_connection(project: Project, _previous_organization_id: str) -> None:
    """Mark a project that uses the credential of a user who is not a member of its new organization."""
    by = project.connected_by
    if project.is_local or project.installation_id is not None or by is None:
        return
    if db.session.get(Membership, (project.organization_id, by)) is None:
        project.connection_status = ConnectionStatus.NEEDS_RECONNECT


@user_deleting.subscribe
def disconnect_user_projects(user: User) -> None:
    """Mark every project that uses the credential of the user."""
    service.mark_disconnected(user.id)
