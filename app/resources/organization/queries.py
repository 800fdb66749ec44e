"""Read-only statements that return organizations as response dictionaries (contract 4.4)."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from app.core import clock
from app.core.ids import HasId
from app.core.permissions import Access
from app.extensions import db
from app.models.base import Row, utcnow_ms
from app.models.organization import (
    ArchiveStatus,
    Invitation,
    InvitationProject,
    Membership,
    MembershipProject,
    Organization,
)
from app.models.project import Project, role_in_project
from app.models.user import User

OrganizationDict = dict[str, object]

SHORT = (
    Project.id,
    Project.name,
    Project.image,
    Project.provider,
    Project.repository,
    Project.branch,
    Project.framework,
    Project.generator,
    Project.visibility,
    Project.status,
    Project.created_at,
    Project.updated_at,
)


def details(organization: Organization, *, viewer: HasId) -> OrganizationDict:
    """Return an organization with the members and the number of the projects that the viewer sees."""
    is_visible = Project.organization_id == organization.id, role_in_project(viewer.id).is_not(None)
    visible = db.session.scalars(sa.select(Project.id).where(*is_visible)).all()
    people = _people({organization.id: visible}, viewer)
    return _shown(organization, people[organization.id], len(visible))


def of_user(user: HasId, *, status: ArchiveStatus | None) -> list[OrganizationDict]:
    """Return the organizations of a user with role and active projects, oldest first.

    Runs two statements, and a third one if a member is limited to projects.
    """
    is_visible = sa.and_(Project.organization_id == Organization.id, role_in_project(user.id).is_not(None))
    rows = db.session.execute(
        sa.select(Organization, Membership.role, *SHORT)
        .join(Membership, Membership.organization_id == Organization.id)
        .outerjoin(Project, is_visible)
        .where(Membership.user_id == user.id, *([Organization.status == status] if status else []))
        .order_by(Organization.created_at, Organization.id, Project.name)
    ).all()
    projects: dict[str, list[Sequence[object]]] = defaultdict(list)
    roles = {row[0]: row[1] for row in rows}
    for row in rows:
        if row[2] is not None:
            projects[row[0].id].append(row[2:])
    visible = {organization.id: [str(row[0]) for row in projects[organization.id]] for organization in roles}
    people = _people(visible, user)
    active = {key: [_short(row) for row in own if row[9] == ArchiveStatus.ACTIVE] for key, own in projects.items()}
    return [
        _shown(organization, people[organization.id], len(projects[organization.id]))
        | {"role": role, "projects": active.get(organization.id, [])}
        for organization, role in roles.items()
    ]


def _people(visible: Mapping[str, Collection[str]], viewer: HasId) -> dict[str, list[OrganizationDict]]:
    """Return members and open invitations by organization, ordered by the time of joining.

    A viewer who is limited to projects, the visible ones of the organization, sees the members who see one of them.
    """
    unique_ids = list(visible)
    members = (
        sa.select(
            Membership.organization_id,
            User.id,
            User.email,
            User.name,
            User.image,
            Membership.role,
            Membership.joined_at,
            Membership.access,
            Membership.user_id,
        )
        .join(User, User.id == Membership.user_id)
        .where(Membership.organization_id.in_(unique_ids))
    )
    no_text = sa.null()
    invited = sa.select(
        Invitation.organization_id, no_text, Invitation.email, no_text, no_text, Invitation.role, sa.null()
    ).add_columns(Invitation.access, Invitation.id)
    invited = invited.where(Invitation.organization_id.in_(unique_ids), Invitation.expires_at > utcnow_ms())
    people: dict[str, list[OrganizationDict]] = {unique_id: [] for unique_id in unique_ids}
    rows: Sequence[Any] = db.session.execute(sa.union_all(members, invited)).all()
    is_limited = any(row.access == Access.PROJECTS for row in rows)
    chosen = _chosen(unique_ids) if is_limited else {}
    for row in sorted(rows, key=lambda row: (row[6] is None, str(row[6]), row[2])):
        people[row[0]].append(_person(row[1:-1], chosen.get((row[0], row[-1]), [])))
    if not is_limited:
        return people
    return {unique_id: _known(listed, visible[unique_id], viewer) for unique_id, listed in people.items()}


def _chosen(organization_ids: Collection[str]) -> dict[tuple[str, str], list[OrganizationDict]]:
    """Return the chosen projects by organization and user, or by organization and invitation."""
    members = sa.select(MembershipProject.organization_id, MembershipProject.user_id).add_columns(
        MembershipProject.project_id, MembershipProject.role
    )
    invited = (
        sa.select(Invitation.organization_id, Invitation.id, InvitationProject.project_id, InvitationProject.role)
        .join(Invitation, Invitation.id == InvitationProject.invitation_id)
        .where(Invitation.organization_id.in_(organization_ids))
    )
    members = members.where(MembershipProject.organization_id.in_(organization_ids))
    chosen: dict[tuple[str, str], list[OrganizationDict]] = defaultdict(list)
    for organization_id, key, project_id, role in db.session.execute(sa.union_all(members, invited)):
        chosen[organization_id, key].append({"project_id": project_id, "role": role})
    return chosen


def _known(people: list[OrganizationDict], visible: Collection[str], viewer: HasId) -> list[OrganizationDict]:
    """Return the people whom the viewer sees, with the projects that the viewer sees."""
    if not any(person["user_id"] == viewer.id and person["access"] == Access.PROJECTS for person in people):
        return people
    shared: list[Any] = [
        person | {"projects": [item for item in person["projects"] if item["project_id"] in visible]}  # type: ignore[attr-defined]
        for person in people
        if person["user_id"] is not None
    ]
    return [
        person
        for person in shared
        if person["access"] == Access.ALL or person["projects"] or person["user_id"] == viewer.id
    ]


def _person(row: Sequence[Any], projects: list[OrganizationDict]) -> OrganizationDict:
    user_id, email, name, image, role, joined_at, access = row
    return {
        "user_id": user_id,
        "email": email,
        "full_name": name,
        "image": image,
        "role": role,
        "access": access,
        "projects": projects,
        "status": "invited" if user_id is None else "active",
        "joined_at": None if joined_at is None else clock.iso(joined_at),
    }


def _shown(organization: Organization, people: list[OrganizationDict], project_count: int) -> OrganizationDict:
    required_from = organization.second_factor_from
    return {
        "org_id": organization.id,
        "org_name": organization.name,
        "org_image": organization.image,
        "settings": organization.settings,
        "require_second_factor": required_from is not None,
        "second_factor_from": None if required_from is None else required_from.date().isoformat(),
        "owner": organization.owner_id,
        "default": organization.is_default,
        "status": organization.status,
        "members": people,
        "projectCount": project_count,
        "createdAt": clock.iso(organization.created_at),
        "updatedAt": clock.iso(organization.updated_at),
    }


def _short(row: Sequence[Any]) -> OrganizationDict:
    return {
        "project_id": row[0],
        "project_name": row[1],
        "project_image": row[2],
        "provider": row[3],
        "repository": row[4],
        "branch": row[5],
        "framework": row[6],
        "generator": row[7],
        "visibility": row[8],
        "status": row[9],
        "createdAt": clock.iso(row[10]),
        "updatedAt": clock.iso(row[11]),
    }


def open_invitation(invitation_id: str) -> Row | None:
    """Return `organization`, `inviter` and `email` of an invitation, or None if it does not exist or has expired.

    The id is a secret of the mail.
    """
    statement = (
        sa.select(Organization.name.label("organization"), User.name.label("inviter"), Invitation.email)
        .join_from(Invitation, Organization, Organization.id == Invitation.organization_id)
        .outerjoin(User, User.id == Invitation.invited_by)
        .where(Invitation.id == invitation_id, Invitation.expires_at > utcnow_ms())
    )
    return db.session.execute(statement).one_or_none()
