"""The rules of preferences: absent is all defaults, what is not named stays, first writes may race."""

from collections.abc import Mapping
from typing import Any

from app.core.upserts import insert_or_update
from app.extensions import db
from app.models.base import moment
from app.models.user import User
from app.models.user_preference import Theme, UserPreference

DEFAULTS = {"theme": Theme.SYSTEM, "language": "en", "timezone": "UTC", "impersonate": False}


def read(user: User) -> UserPreference:
    """What the user has chosen, or the defaults, as old as the user."""
    found = db.session.get(UserPreference, user.id)
    times = {"created_at": user.created_at, "updated_at": user.created_at}
    return found or UserPreference(user_id=user.id, **DEFAULTS, **times)


def change(user: User, changes: Mapping[str, Any]) -> UserPreference:
    """Keep choices; one statement, so that parallel first writes are no error. No choice changes nothing."""
    if not changes:
        return read(user)
    now = moment()
    values = {"user_id": user.id, **DEFAULTS, **changes, "created_at": now, "updated_at": now}
    dialect = db.session.connection().dialect.name
    db.session.execute(
        insert_or_update(dialect, UserPreference, values, unique=["user_id"], changes={**changes, "updated_at": now})
    )
    return db.session.get_one(UserPreference, user.id, populate_existing=True)
