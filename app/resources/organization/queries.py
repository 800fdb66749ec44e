"""Read-only statements that return organizations as response dictionaries (contract 4.4)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from app.core import clock
from app.core.ids import HasId
from app.extensions import db
from app.models.base import Row, utcnow_ms
from app.models.organization import ArchiveStatus, Invitation, Membership, Organization
from app.models.project import Project
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


def details(organization: Organization) -> OrganizationDict:
    """Return an organization with its members and the number of its projects."""
    count = db.session.scalar(sa.select(sa.func.count()).where(Project.organization_id == organization.id))
    return _shown(organization, _people([organization.id])[organization.id], count or 0)


def of_user(user: HasId, *, status: ArchiveStatus | None) -> list[OrganizationDict]:
    """Return the organizations of a user with role and active projects, oldest first. Runs two statements."""
    rows = db.session.execute(
        sa.select(Organization, Membership.role, *SHORT)
        .join(Membership, Membership.organization_id == Organization.id)
        .outerjoin(Project, Project.organization_id == Organization.id)
        .where(Membership.user_id == user.id, *([Organization.status == status] if status else []))
        .order_by(Organization.created_at, Organization.id, Project.name)
    ).all()
    projects: dict[str, list[Sequence[object]]] = defaultdict(list)
    roles = {row[0]: row[1] for row in rows}
    for row in rows:
        if row[2] is not None:
            projects[row[0].id].append(row[2:])
    people = _people([organization.id for organization in roles])
    active = {key: [_short(row) for row in own if row[9] == ArchiveStatus.ACTIVE] for key, own in projects.items()}
    return [
        _shown(organization, people[organization.id], len(projects[organization.id]))
        | {"role": role, "projects": active.get(organization.id, [])}
        for organization, role in roles.items()
    ]


def _people(organization_ids: Iterable[str]) -> dict[str, list[OrganizationDict]]:
    """Return members and open invitations by organization, ordered by the time of joining. Runs one statement."""
    unique_ids = list(organization_ids)
    members = (
        sa.select(
            Membership.organization_id,
            User.id,
            User.email,
            User.name,
            User.image,
            Membership.role,
            Membership.joined_at,
        )
        .join(User, User.id == Membership.user_id)
        .where(Membership.organization_id.in_(unique_ids))
    )
    invited = sa.select(
        Invitation.organization_id, sa.null(), Invitation.email, sa.null(), sa.null(), Invitation.role, sa.null()
    ).where(Invitation.organization_id.in_(unique_ids), Invitation.expires_at > utcnow_ms())
    people: dict[str, list[OrganizationDict]] = {unique_id: [] for unique_id in unique_ids}
    rows: Sequence[Any] = db.session.execute(sa.union_all(members, invited)).all()
    for row in sorted(rows, key=lambda row: (row[6] is None, str(row[6]), row[2])):
        people[row[0]].append(_person(row[1:]))
    return people


def _person(row: Sequence[Any]) -> OrganizationDict:
    user_id, email, name, image, role, joined_at = row
    return {
        "user_id": user_id,
        "email": email,
        "full_name": name,
        "image": image,
        "role": role,
        "status": "invited" if user_id is None else "active",
        "joined_at": None if joined_at is None else clock.iso(joined_at),
    }


def _shown(organization: Organization, people: list[OrganizationDict], project_count: int) -> OrganizationDict:
    return {
        "org_id": organization.id,
        "org_name": organization.name,
        "org_image": organization.image,
        "settings": organization.settings,
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
