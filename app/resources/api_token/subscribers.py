"""Revocation of tokens when a membership ends or a password is reset."""

import sqlalchemy as sa

from app.extensions import db
from app.models.base import utcnow_ms
from app.models.login import ApiToken
from app.models.organization import Organization
from app.models.project import Project
from app.models.user import User
from app.resources.organization.events import membership_ended
from app.resources.user.events import password_reset


def revoke_of_user(user: User) -> None:
    """Revoke the personal tokens of a user, and the service accounts that the user owns."""
    _revoke(sa.true(), user.id)


def revoke_of_member(organization: Organization, user_id: str) -> None:
    """Revoke what a former member owns in an organization.

    Service accounts of the organization are revoked. Personal tokens lose its projects; a token without another project
    is revoked.
    """
    _revoke(ApiToken.organization_id == organization.id, user_id)
    restricted = db.session.scalars(
        sa.select(ApiToken)
        .where(ApiToken.user_id == user_id, ApiToken.organization_id.is_(None), ApiToken.projects.is_not(None))
        .with_for_update()
    ).all()
    named = {project for row in restricted for project in row.projects or ()}
    ours = set(
        db.session.scalars(
            sa.select(Project.id).where(Project.organization_id == organization.id, Project.id.in_(named))
        )
    )
    for row in restricted:
        if ours.intersection(row.projects or ()):
            row.projects = [project for project in row.projects or () if project not in ours]
            row.revoked_at = row.revoked_at or (None if row.projects else utcnow_ms())
    db.session.flush()


def _revoke(where: sa.ColumnElement[bool], user_id: str) -> None:
    unrevoked = sa.and_(ApiToken.user_id == user_id, ApiToken.revoked_at.is_(None))
    db.session.execute(sa.update(ApiToken).where(unrevoked, where).values(revoked_at=utcnow_ms()))


membership_ended.subscribe(revoke_of_member)
password_reset.subscribe(revoke_of_user)
