"""How much of the creation limits a person has used (contract 4.3). Creating checks again, under a lock."""

from typing import TypedDict

import sqlalchemy as sa

from app.core.limits import Limits
from app.extensions import db
from app.models.base import moment
from app.models.organization import Invitation, Membership, Organization, Status
from app.models.project import Project
from app.models.user import User


class Quota(TypedDict):
    """How much of one limit is used, and whether one more is allowed."""

    limit: int
    used: int
    remaining: int
    allowed: bool


def check(user: User, *, limits: Limits) -> dict[str, object]:
    """The limits of a user, over the organizations they own, archived and default ones included."""
    used = _used(user)
    projects = {org_id: _quota(limits.projects_per_organization, count) for org_id, count, _ in used}
    members = {org_id: _quota(limits.members, count) for org_id, _, count in used}
    total = sum(count for _, count, _ in used)
    return {
        "organizations": _quota(limits.organizations, len(used)),
        "projects": {**_quota(limits.projects, total), "per_organization": projects},
        "members": {"per_organization": members},
    }


def _used(user: User) -> list[tuple[str, int, int]]:
    """Organization, its active projects, its members and pending invitations; one statement."""
    mine = Organization.id
    projects = _count(Project, Project.organization_id == mine, Project.status == Status.ACTIVE)
    members = _count(Membership, Membership.organization_id == mine)
    invited = _count(Invitation, Invitation.organization_id == mine, Invitation.expires_at > moment())
    wanted = sa.select(mine, projects, members + invited).where(Organization.owner_id == user.id).order_by(mine)
    return [(org_id, active, people) for org_id, active, people in db.session.execute(wanted)]


def _count(table: type, *where: sa.ColumnElement[bool]) -> sa.ScalarSelect[int]:
    return sa.select(sa.func.count()).select_from(table).where(*where).correlate(Organization).scalar_subquery()


def _quota(limit: int, used: int) -> Quota:
    return {"limit": limit, "used": used, "remaining": max(0, limit - used), "allowed": used < limit}
