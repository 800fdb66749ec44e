"""How a user may sign in: the password and the linked logins."""

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from app.extensions import db
from app.models.login import Account
from app.models.user import User

CREDENTIAL = "credential"
NAME_LENGTH = 120


@dataclass(frozen=True)
class WayIn:
    """A linked login, or the password; `subject` is who the user is there."""

    id: str
    provider: str
    subject: str
    created_at: datetime
    updated_at: datetime


def ways_in(user: User) -> list[WayIn]:
    """How a user may sign in, the password first."""
    linked = db.session.scalars(sa.select(Account).where(Account.user_id == user.id).order_by(Account.id))
    found = [WayIn(one.id, one.provider, one.subject, one.created_at, one.updated_at) for one in linked]
    own = [WayIn(user.id, CREDENTIAL, user.id, user.created_at, user.updated_at)] if user.password_hash else []
    return own + found
