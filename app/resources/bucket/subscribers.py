"""Deletion of assets with their user, organization or project."""

from app.models.organization import Organization
from app.models.project import Project
from app.models.user import User
from app.resources.bucket import service
from app.resources.organization.events import organization_deleting
from app.resources.project.events import project_deleting
from app.resources.user.events import user_deleting


@user_deleting.subscribe
def delete_user_assets(user: User) -> None:
    """Delete the unattached assets of the user."""
    service.delete_of_user(user.id)


@organization_deleting.subscribe
def delete_organization_assets(organization: Organization) -> None:
    """Delete the assets of the organization. Each project has its own event."""
    service.delete_of_organization(organization.id)


@project_deleting.subscribe
def delete_project_assets(project: Project) -> None:
    """Delete the assets of the project."""
    service.delete_of_project(project.id)
