"""Creation limits of a user: from the settings, raised by the plan, and the parts that are used (contract 4.3)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypedDict

import sqlalchemy as sa

from app.core.ids import HasId
from app.core.limits import Limits
from app.extensions import current_settings, db
from app.models.base import utcnow_ms
from app.models.order import Subscription
from app.models.organization import ArchiveStatus, Invitation, Membership, Organization
from app.models.project import Project

ENTITLED = ("active", "trialing", "past_due")
"""States of a subscription in which its plan applies. A failed payment changes nothing while it is retried."""
Plans = Mapping[str, Mapping[str, int]]
"""Limits by plan: `organizations`, `projects`, `projects_per_organization`, `members`."""


class Quota(TypedDict):
    """The used part of one limit."""

    limit: int
    used: int
    remaining: int
    allowed: bool


def check(user: HasId, *, limits: Limits) -> dict[str, object]:
    """Return the limits of a user over all owned organizations, including archived and default ones."""
    used = _used(user)
    projects = {org_id: _quota(limits.projects_per_organization, count) for org_id, count, _ in used}
    members = {org_id: _quota(limits.members, count) for org_id, _, count in used}
    total = sum(count for _, count, _ in used)
    return {
        "organizations": _quota(limits.organizations, len(used)),
        "projects": {**_quota(limits.projects, total), "per_organization": projects},
        "members": {"per_organization": members},
    }


def _used(user: HasId) -> list[tuple[str, int, int]]:
    """Return organization id, active projects, and members with pending invitations. Runs one statement."""
    mine = Organization.id
    projects = _count(Project, Project.organization_id == mine, Project.status == ArchiveStatus.ACTIVE)
    members = _count(Membership, Membership.organization_id == mine)
    invited = _count(Invitation, Invitation.organization_id == mine, Invitation.expires_at > utcnow_ms())
    statement = sa.select(mine, projects, members + invited).where(Organization.owner_id == user.id).order_by(mine)
    return [(org_id, active, people) for org_id, active, people in db.session.execute(statement)]


def _count(table: type, *where: sa.ColumnElement[bool]) -> sa.ScalarSelect[int]:
    return sa.select(sa.func.count()).select_from(table).where(*where).correlate(Organization).scalar_subquery()


def _quota(limit: int, used: int) -> Quota:
    return {"limit": limit, "used": used, "remaining": max(0, limit - used), "allowed": used < limit}


def limits_for(user_id: str, *, limits: Limits, plans: Plans) -> Limits:
    """Return the limits of a user: each number is the largest of the default and the plans of the user."""
    if not plans:
        return limits
    statement = sa.select(Subscription.plan).where(Subscription.user_id == user_id, Subscription.status.in_(ENTITLED))
    bought = [plans[plan] for plan in db.session.scalars(statement) if plan in plans]
    raised = {
        name: max(getattr(limits, name), *(plan[name] for plan in bought if name in plan))
        for name in {name for plan in bought for name in plan}
    }
    return replace(limits, **raised)


def limits_of(user_id: str) -> Limits:
    """Return the default limits, raised by the plan of the user. For an organization, pass its owner."""
    settings = current_settings()
    return limits_for(user_id, limits=settings.limits, plans=settings.billing.plans)
