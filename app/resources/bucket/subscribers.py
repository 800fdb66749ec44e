"""How media follow what they belong to: they go with their person, organization or project."""

from app.models.organization import Organization
from app.models.project import Project
from app.models.user import User
from app.resources.bucket import service
from app.resources.organization.events import organization_deleting
from app.resources.project.events import project_deleting
from app.resources.user.events import user_deleting


@user_deleting.subscribe
def lose_user(user: User) -> None:
    """Delete what the person uploaded and attached to nothing."""
    service.delete_of_user(user.id)


@organization_deleting.subscribe
def lose_organization(organization: Organization) -> None:
    """Delete what is attached to the organization; its projects are announced one by one."""
    service.delete_of_organization(organization.id)


@project_deleting.subscribe
def lose_project(project: Project) -> None:
    """Delete what is attached to the project."""
    service.delete_of_project(project.id)
