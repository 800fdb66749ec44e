"""Sign-in methods of a user: the password and the social accounts."""

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from app.extensions import db
from app.models.login import SocialAccount
from app.models.user import User

CREDENTIAL = "credential"
NAME_LENGTH = 120


@dataclass(frozen=True)
class SignInMethod:
    """A social account or the password. `subject` is the id of the user at the provider."""

    id: str
    provider: str
    subject: str
    created_at: datetime
    updated_at: datetime


def sign_in_methods(user: User) -> list[SignInMethod]:
    """Return the sign-in methods of a user, the password first."""
    linked = db.session.scalars(
        sa.select(SocialAccount).where(SocialAccount.user_id == user.id).order_by(SocialAccount.id)
    )
    social = [SignInMethod(one.id, one.provider, one.subject, one.created_at, one.updated_at) for one in linked]
    own = [SignInMethod(user.id, CREDENTIAL, user.id, user.created_at, user.updated_at)] if user.password_hash else []
    return own + social
