"""Mails to the holder of an account: in their language, with the links they need. Knows no words and no transport."""

from typing import Any

import sqlalchemy as sa

from app.extensions import db, jobs
from app.models.user import User
from app.models.user_preference import UserPreference


def language_of(user: User, otherwise: str = "en") -> str:
    """The language a person has chosen, or `otherwise`."""
    chosen = db.session.scalar(sa.select(UserPreference.language).where(UserPreference.user_id == user.id))
    return chosen or otherwise


def language_at(email_key: str, otherwise: str) -> str:
    """The language the owner of an e-mail has chosen, or `otherwise`; one statement, whether anybody owns it or not."""
    chosen = sa.select(UserPreference.language).join(User, User.id == UserPreference.user_id)
    return db.session.scalar(chosen.where(User.email_key == email_key)) or otherwise


def notify(user: User, template: str, /, *, otherwise: str = "en", **values: Any) -> None:
    """Mail a person when this transaction is committed."""
    language = language_of(user, otherwise)
    jobs.enqueue("mail.send", to=user.email, template=template, language=language, name=user.name, **values)
