"""Read-only statements about API tokens."""

from collections.abc import Sequence

import sqlalchemy as sa

from app.extensions import db
from app.models.login import ApiToken


def of_user(user_id: str) -> Sequence[ApiToken]:
    """Return the personal tokens of a user, newest first."""
    return _all(sa.and_(ApiToken.user_id == user_id, ApiToken.organization_id.is_(None)))


def of_organization(organization_id: str) -> Sequence[ApiToken]:
    """Return the service accounts of an organization, newest first."""
    return _all(ApiToken.organization_id == organization_id)


def _all(where: sa.ColumnElement[bool]) -> Sequence[ApiToken]:
    return db.session.scalars(sa.select(ApiToken).where(where).order_by(ApiToken.id.desc())).all()
