"""Rules of projects: creation, change, connection, move, deletion."""

from typing import Any

import sqlalchemy as sa

from app.core.errors import Archived, Conflict, ErrorMessage, InvalidRequest, LimitReached, NotFound
from app.core.ids import HasId
from app.core.limits import Limits
from app.database.transactions import flushed, savepoint
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.organization import ArchiveStatus, Organization
from app.models.project import ConnectionStatus, Project, role_in_project
from app.models.user import User
from app.resources.git_provider import local_repositories
from app.resources.media_asset.service import image_error, release_image
from app.resources.organization.locks import lock_organizations, lock_users
from app.resources.project.events import (
    project_archived,
    project_connected,
    project_created,
    project_deleting,
    project_moved,
    project_updated,
)
from app.resources.project.repository_access import ReachableBranch
from app.resources.project.site_detection import SiteKind
from app.resources.user.creation_limits import limits_of


def create(
    organization: Organization, values: dict[str, Any], reached: ReachableBranch, *, by: User, limits: Limits
) -> Project:
    """Create a project on a verified branch. Subscribers of `project_connected` enqueue its indexing.

    Raises:
        Archived: the organization is archived.
        LimitReached: the organization or its owner has the maximum number of active projects.
        Conflict: the organization has a project of that name.
        InvalidRequest: `by` must not use the image.
        RepositoryUnavailable: the local repository belongs to another organization.
    """
    _check_image(values.get("image"), by, organization.id, None)
    _check_capacity(organization, limits)
    project = Project(organization_id=organization.id, creator_id=by.id, **values)
    _connect(project, reached, by)
    with savepoint(_name_taken, Project.organization_id, Project.name):
        db.session.add(project)
    _claim(project)
    project_connected.publish(project)
    project_created.publish(project)
    return project


def check_creation(organization: Organization, name: str, *, limits: Limits) -> None:
    """Refuse a project before a repository is created for it. `create` repeats the checks under locks.

    Raises:
        Archived, LimitReached, Conflict: as `create`.
    """
    if organization.status == ArchiveStatus.ARCHIVED:
        raise Archived
    _check_organization(organization, limits.projects_per_organization)
    _check_owner(organization, limits.projects)
    if db.session.scalar(sa.select(Project.id).where(Project.organization_id == organization.id, Project.name == name)):
        raise _name_taken()


def update(project: Project, changes: dict[str, Any], *, by: HasId) -> Project:
    """Change columns. The keys of `paths` are merged, so the caller holds the lock of the row.

    Raises:
        Conflict: the organization has another project of that name.
        InvalidRequest: `by` must not use the image.
    """
    _check_image(changes.get("image"), by, project.organization_id, project.id)
    if "paths" in changes:
        changes = changes | {"paths": project.paths | changes["paths"]}
    old_image = project.image
    with flushed(_name_taken, Project.organization_id, Project.name):
        for column, value in changes.items():
            setattr(project, column, value)
    if project.image != old_image:
        release_image(old_image, project_id=project.id)
    project_updated.publish(project)
    return project


def follow_site(project: Project, previous: SiteKind, present: SiteKind) -> None:
    """Store the detected generator and framework, where the project has none or the previously detected one."""
    changes = {
        name: getattr(present, name)
        for name in ("generator", "framework")
        if getattr(present, name) is not None and getattr(project, name) in (None, getattr(previous, name))
    }
    for column, value in changes.items():
        setattr(project, column, value)
    if changes:
        project_updated.publish(project)


def set_status(project: Project, organization: Organization, status: ArchiveStatus) -> Project:
    """Archive or activate a project. The limits of a creation apply to an activation.

    Raises:
        LimitReached: the organization or its owner has the maximum number of active projects.
    """
    lock_organizations(organization.id)
    _refresh(project, organization.id)
    if status == ArchiveStatus.ACTIVE and project.status != ArchiveStatus.ACTIVE:
        _check_limits(organization, limits_of(organization.owner_id))
    is_changed, project.status = project.status != status, status
    db.session.flush()
    if is_changed:
        (project_archived if status == ArchiveStatus.ARCHIVED else project_updated).publish(project)
    return project


def connect(project: Project, reached: ReachableBranch | None, *, by: User) -> Project:
    """Connect a project to a verified branch with the credential of `by`. None disconnects it.

    Raises:
        RepositoryUnavailable: the local repository belongs to another organization.
    """
    if reached is None:
        project.repository, project.repository_id, project.branch = "", None, ""
        project.connected_by, project.connection_account, project.installation_id = None, None, None
        project.connection_status = ConnectionStatus.NEEDS_RECONNECT
    else:
        _connect(project, reached, by)
        _claim(project)
    project.updated_at = utcnow_ms()
    db.session.flush()
    project_connected.publish(project)
    project_updated.publish(project)
    return project


def move(project: Project, source: Organization, destination: Organization, *, by: User) -> Project:
    """Move a project and its local repository to another organization of the same owner.

    Raises:
        Archived: the destination is archived.
        LimitReached: the destination has the maximum number of active projects.
        Conflict: the destination has a project of that name, or the owner of an organization has changed.
        NotFound: another request moved or deleted the project.
    """
    lock_organizations(source.id, destination.id)
    _refresh(project, source.id)
    if not source.owner_id == destination.owner_id == by.id:
        raise Conflict("The owner of one of the organizations has changed. Reload and try again", code="OWNER_CHANGED")
    if source.id == destination.id:
        return project
    if destination.status == ArchiveStatus.ARCHIVED:
        raise Archived("The destination is archived; make it active first")
    if project.status == ArchiveStatus.ACTIVE:
        _check_organization(destination, limits_of(destination.owner_id).projects_per_organization)
    _change_organization(project, destination)
    if project.is_local and project.repository:
        hand_over_repository(project.repository, destination.id)
        project.connection_status = ConnectionStatus.ACTIVE
        db.session.flush()
    project_moved.publish(project, source.id)
    return project


def delete(project: Project) -> str:
    """Delete a project with its rows and return its id. The repository stays.

    Raises:
        NotFound: another request deleted it.
    """
    project_deleting.publish(project)
    db.session.flush()
    deleted_id = db.session.execute(
        sa.delete(Project).where(Project.id == project.id).returning(Project.id),
        execution_options={"synchronize_session": False},
    ).scalar_one_or_none()
    if deleted_id is None:
        raise NotFound("Project not found")
    return deleted_id


def hand_over_repository(name: str, organization_id: str) -> None:
    """Assign a local repository to an organization. Projects of other organizations on it need a new connection."""
    local_repositories.assign(name, organization_id)
    on_repository = sa.and_(Project.is_local, Project.repository == name)
    for organizations, status in (
        (Project.organization_id == organization_id, ConnectionStatus.ACTIVE),
        (Project.organization_id != organization_id, ConnectionStatus.NEEDS_RECONNECT),
    ):
        db.session.execute(
            sa.update(Project).where(on_repository, organizations).values(connection_status=status),
            execution_options={"synchronize_session": False},
        )


def mark_disconnected(user_id: str, organization_id: str | None = None) -> None:
    """Mark the projects that use the credential of a user who has no role in them.

    Without an organization, mark all that use it. Installations stay connected (contract 4.13).
    """
    where = [
        Project.connected_by == user_id,
        sa.not_(Project.is_local),
        Project.installation_id.is_(None),
    ]
    if organization_id is not None:
        where += [Project.organization_id == organization_id, role_in_project(user_id).is_(None)]
    db.session.execute(
        sa.update(Project).where(*where).values(connection_status=ConnectionStatus.NEEDS_RECONNECT),
        execution_options={"synchronize_session": False},
    )


def _connect(project: Project, reached: ReachableBranch, by: User) -> None:
    project.provider, project.repository = reached.provider, reached.repository
    project.repository_id, project.branch = reached.repository_id, reached.branch
    project.connected_by, project.connection_account = by.id, reached.account
    project.installation_id = reached.installation_id
    project.connection_status = ConnectionStatus.ACTIVE


def _claim(project: Project) -> None:
    if project.is_local:
        local_repositories.claim(project.repository, project.organization_id)


def _change_organization(project: Project, destination: Organization) -> None:
    with savepoint(_name_taken, Project.organization_id, Project.name):
        project.organization_id = destination.id


def _refresh(project: Project, organization_id: str) -> None:
    current = db.session.scalar(
        sa.select(Project)
        .where(Project.id == project.id, Project.organization_id == organization_id)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    )
    if current is None:
        raise NotFound("Project not found")


def _check_capacity(organization: Organization, limits: Limits) -> None:
    lock_organizations(organization.id)
    if organization.status == ArchiveStatus.ARCHIVED:
        raise Archived
    _check_limits(organization, limits)


def _check_limits(organization: Organization, limits: Limits) -> None:
    """Count while organization and owner are locked, so that parallel requests cannot exceed the limits."""
    _check_organization(organization, limits.projects_per_organization)
    lock_users(organization.owner_id)
    _check_owner(organization, limits.projects)


def _check_owner(organization: Organization, limit: int) -> None:
    owned = sa.select(Organization.id).where(Organization.owner_id == organization.owner_id)
    if _count_active(Project.organization_id.in_(owned)) >= limit:
        raise LimitReached(ErrorMessage("At most %(limit)s active projects can be owned", limit=limit))


def _check_organization(organization: Organization, limit: int) -> None:
    if _count_active(Project.organization_id == organization.id) >= limit:
        raise LimitReached(ErrorMessage("An organization has at most %(limit)s active projects", limit=limit))


def _count_active(where: sa.ColumnElement[bool]) -> int:
    return db.session.scalar(sa.select(sa.func.count()).where(Project.status == ArchiveStatus.ACTIVE, where)) or 0


def _check_image(key: str | None, by: HasId, organization_id: str, project_id: str | None) -> None:
    fault = image_error(key, by.id, organization_id, project_id) if key is not None else None
    if fault is not None:
        raise InvalidRequest.field("project_image", fault)


def _name_taken() -> Conflict:
    return Conflict(ErrorMessage("There is already a project of this name in the organization"), code="NAME_TAKEN")
