"""Rules of projects. Knows tables and events; knows no request and no response."""

from typing import Any

import sqlalchemy as sa

from app.core.errors import Archived, Conflict, Invalid, LimitReached, NotFound
from app.core.limits import Limits
from app.extensions import db
from app.models.base import moment
from app.models.media_rules import image_fault, release_image
from app.models.organization import Organization, Status
from app.models.project import ConnectionStatus, Project, Provider
from app.models.user import User
from app.resources.git_provider import local
from app.resources.organization.holds import hold_organizations, hold_users
from app.resources.project.connecting import Reached
from app.resources.project.events import project_connected, project_deleting, project_moved


def create(
    organization: Organization, values: dict[str, Any], reached: Reached, *, by: User, limits: Limits
) -> Project:
    """Make a project on a branch that was reached; its indexing is queued by who subscribes to `project_connected`.

    Raises:
        Archived: the organization was put away.
        LimitReached: the organization, or its owner, has as many active projects as may be.
        Conflict: the organization has a project of that name.
        Invalid: `by` may not use the image.
        RepositoryUnavailable: another organization connected that local repository first.
    """
    _check_image(values.get("image"), by, organization.id, None)
    _make_room(organization, limits)
    project = Project(organization_id=organization.id, creator_id=by.id, **values)
    _connect(project, reached, by)
    try:
        with db.session.begin_nested():
            db.session.add(project)
    except sa.exc.IntegrityError as taken:
        raise _name_taken() from taken
    _claim(project)
    project_connected.announce(project)
    return project


def update(project: Project, changes: dict[str, Any], *, by: User) -> Project:
    """Change columns; `paths` are changed one by one.

    Raises:
        Conflict: the organization has another project of that name.
        Invalid: `by` may not use the image.
    """
    _check_image(changes.get("image"), by, project.organization_id, project.id)
    if "paths" in changes:
        changes = changes | {"paths": project.paths | changes["paths"]}
    old_image = project.image
    try:
        with db.session.begin_nested():
            for column, value in changes.items():
                setattr(project, column, value)
    except sa.exc.IntegrityError as taken:
        raise _name_taken() from taken
    if project.image != old_image:
        release_image(old_image, project_id=project.id)
    return project


def set_status(project: Project, organization: Organization, status: Status, *, limits: Limits) -> Project:
    """Archive it, or make it active again, which is checked like creating.

    Raises:
        LimitReached: the organization, or its owner, has as many active projects as may be.
    """
    hold_organizations(organization.id)
    _read_anew(project, organization.id)
    if status == Status.ACTIVE and project.status != Status.ACTIVE:
        _check_limits(organization, limits)
    project.status = status
    db.session.flush()
    return project


def connect(project: Project, reached: Reached | None, *, by: User) -> Project:
    """Connect another repository or branch, or the same with `by`'s credential; None disconnects.

    Raises:
        RepositoryUnavailable: another organization connected that local repository first.
    """
    if reached is None:
        project.repository, project.repository_id, project.branch = "", None, ""
        project.connected_by, project.connection_account, project.installation_id = None, None, None
        project.connection_status = ConnectionStatus.NEEDS_RECONNECT
    else:
        _connect(project, reached, by)
        _claim(project)
    project.updated_at = moment()
    db.session.flush()
    project_connected.announce(project)
    return project


def move(project: Project, source: Organization, destination: Organization, *, by: User, limits: Limits) -> Project:
    """Move it, with its local repository, to another organization of the same owner.

    Raises:
        Archived: the destination is put away.
        LimitReached: the destination has as many active projects as may be.
        Conflict: the destination has a project of that name, or one of the two changed hands meanwhile.
        NotFound: the project was moved or deleted meanwhile.
    """
    hold_organizations(source.id, destination.id)
    _read_anew(project, source.id)
    if not source.owner_id == destination.owner_id == by.id:
        raise Conflict("One of the organizations has another owner by now", code="OWNER_CHANGED")
    if source.id == destination.id:
        return project
    if destination.status == Status.ARCHIVED:
        raise Archived("The destination is archived; make it active first")
    if project.status == Status.ACTIVE:
        _check_organization(destination, limits.projects_per_organization)
    _change_organization(project, destination)
    if project.provider == Provider.LOCAL and project.repository:
        hand_over_repository(project.repository, destination.id)
        project.connection_status = ConnectionStatus.ACTIVE
        db.session.flush()
    project_moved.announce(project, source.id)
    return project


def delete(project: Project) -> str:
    """Delete it with all that hangs on it; its repository stays. Returns its id.

    Raises:
        NotFound: it was deleted meanwhile.
    """
    project_deleting.announce(project)
    db.session.flush()
    gone = db.session.execute(
        sa.delete(Project).where(Project.id == project.id).returning(Project.id),
        execution_options={"synchronize_session": False},
    ).scalar_one_or_none()
    if gone is None:
        raise NotFound("Project not found")
    return gone


def hand_over_repository(name: str, organization_id: str) -> None:
    """Give a local repository to an organization; projects of others on it have lost it until they connect another."""
    local.hand_over(name, organization_id)
    on_it = sa.and_(Project.provider == Provider.LOCAL, Project.repository == name)
    for theirs, status in (
        (Project.organization_id == organization_id, ConnectionStatus.ACTIVE),
        (Project.organization_id != organization_id, ConnectionStatus.NEEDS_RECONNECT),
    ):
        db.session.execute(
            sa.update(Project).where(on_it, theirs).values(connection_status=status),
            execution_options={"synchronize_session": False},
        )


def lose_connections(user_id: str, organization_id: str | None = None) -> None:
    """Mark what hangs on the credential of a member who is gone; an installation outlives its member (contract 4.13)."""
    where = [
        Project.connected_by == user_id,
        Project.provider != Provider.LOCAL,
        Project.installation_id.is_(None),
    ]
    if organization_id is not None:
        where.append(Project.organization_id == organization_id)
    db.session.execute(
        sa.update(Project).where(*where).values(connection_status=ConnectionStatus.NEEDS_RECONNECT),
        execution_options={"synchronize_session": False},
    )


def _connect(project: Project, reached: Reached, by: User) -> None:
    project.provider, project.repository = reached.provider, reached.repository
    project.repository_id, project.branch = reached.repository_id, reached.branch
    project.connected_by, project.connection_account = by.id, reached.account
    project.installation_id = reached.installation_id
    project.connection_status = ConnectionStatus.ACTIVE


def _claim(project: Project) -> None:
    if project.provider == Provider.LOCAL:
        local.claim(project.repository, project.organization_id)


def _change_organization(project: Project, destination: Organization) -> None:
    try:
        with db.session.begin_nested():
            project.organization_id = destination.id
    except sa.exc.IntegrityError as taken:
        raise _name_taken() from taken


def _read_anew(project: Project, organization_id: str) -> None:
    found = db.session.scalar(
        sa.select(Project)
        .where(Project.id == project.id, Project.organization_id == organization_id)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    )
    if found is None:
        raise NotFound("Project not found")


def _make_room(organization: Organization, limits: Limits) -> None:
    hold_organizations(organization.id)
    if organization.status == Status.ARCHIVED:
        raise Archived
    _check_limits(organization, limits)


def _check_limits(organization: Organization, limits: Limits) -> None:
    """Counted while organization and owner are held, so that of parallel requests only as many pass as there is room."""
    _check_organization(organization, limits.projects_per_organization)
    hold_users(organization.owner_id)
    owned = sa.select(Organization.id).where(Organization.owner_id == organization.owner_id)
    if _count_active(Project.organization_id.in_(owned)) >= limits.projects:
        raise LimitReached(f"At most {limits.projects} active projects can be owned")


def _check_organization(organization: Organization, limit: int) -> None:
    if _count_active(Project.organization_id == organization.id) >= limit:
        raise LimitReached(f"An organization has at most {limit} active projects")


def _count_active(where: sa.ColumnElement[bool]) -> int:
    return db.session.scalar(sa.select(sa.func.count()).where(Project.status == Status.ACTIVE, where)) or 0


def _check_image(key: str | None, by: User, organization_id: str, project_id: str | None) -> None:
    fault = image_fault(key, by.id, organization_id, project_id) if key is not None else None
    if fault is not None:
        raise Invalid.field("project_image", fault)


def _name_taken() -> Conflict:
    return Conflict("There is already a project of this name in the organization", code="NAME_TAKEN")
