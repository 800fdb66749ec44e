"""Reactions of projects to changes of their organizations and of the users who connected them."""

import sqlalchemy as sa

from app.extensions import db, jobs
from app.models.organization import InvitationProject, MembershipProject, Organization
from app.models.project import ConnectionStatus, Project, role_in_project
from app.models.user import User
from app.resources.organization.events import (
    MemberChange,
    member_role_changed,
    membership_ended,
    organization_deleting,
)
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


@member_role_changed.subscribe
def disconnect_hidden_projects(change: MemberChange) -> None:
    """Mark the projects that use the credential of a member who no longer sees them."""
    if change.user_id is not None:
        service.mark_disconnected(change.user_id, change.organization_id)


@project_moved.subscribe
def end_chosen_access(project: Project, _previous_organization_id: str) -> None:
    """Remove the project from members and invitations of the previous organization that are limited to it."""
    for table in (MembershipProject, InvitationProject):
        db.session.execute(sa.delete(table).where(table.project_id == project.id))


@project_moved.subscribe
def check_connection(project: Project, _previous_organization_id: str) -> None:
    """Mark a project that uses the credential of a user who has no role in it after the move."""
    by = project.connected_by
    if project.is_local or project.installation_id is not None or by is None:
        return
    if db.session.scalar(sa.select(role_in_project(by)).where(Project.id == project.id)) is None:
        project.connection_status = ConnectionStatus.NEEDS_RECONNECT


@user_deleting.subscribe
def disconnect_user_projects(user: User) -> None:
    """Mark every project that uses the credential of the user."""
    service.mark_disconnected(user.id)
