"""Mails to users in their language. The job `mail.send` renders and sends them."""

from typing import Any

import sqlalchemy as sa

from app.extensions import db, jobs
from app.models.user import User, UserPreference


def language_of(user: User, otherwise: str = "en") -> str:
    """Return the language of a user, or `otherwise`."""
    chosen = db.session.scalar(sa.select(UserPreference.language).where(UserPreference.user_id == user.id))
    return chosen or otherwise


def language_at(email_key: str, otherwise: str) -> str:
    """Return the language of the owner of an e-mail address, or `otherwise`. Always runs one statement."""
    chosen = sa.select(UserPreference.language).join(User, User.id == UserPreference.user_id)
    return db.session.scalar(chosen.where(User.email_key == email_key)) or otherwise


def notify(user: User, template: str, /, *, otherwise: str = "en", **values: Any) -> None:
    """Enqueue a mail to a user. It is sent after the commit."""
    language = language_of(user, otherwise)
    jobs.enqueue("mail.send", to=user.email, template=template, language=language, **values)
