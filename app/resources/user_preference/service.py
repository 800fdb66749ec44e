"""Rules of preferences. A missing row means the defaults, and parallel first writes are allowed."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from app.core.ids import HasId
from app.database.inserts import insert_or_update
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.user import Theme, UserPreference
from app.resources.user.locks import lock_user

DEFAULTS = {
    "theme": Theme.SYSTEM,
    "language": "en",
    "timezone": "UTC",
    "impersonate": False,
    "developer_view": False,
    "muted_mails": [],
}


class Account(HasId, Protocol):
    """A user of whom only the id and the time of creation are needed."""

    @property
    def created_at(self) -> datetime:
        """The time of creation."""


def read(user: Account) -> UserPreference:
    """Return the preferences of a user, or the defaults with the creation time of the user."""
    row = db.session.get(UserPreference, user.id)
    times = {"created_at": user.created_at, "updated_at": user.created_at}
    return row or UserPreference(user_id=user.id, **DEFAULTS, **times)


def change(user: Account, changes: Mapping[str, object]) -> UserPreference:
    """Change the sent preferences. One statement makes parallel first writes safe.

    Raises:
        AccountDeleted: another request deleted the account.
    """
    if not changes:
        return read(user)
    lock_user(user.id)
    now = utcnow_ms()
    values = {"user_id": user.id, **DEFAULTS, **changes, "created_at": now, "updated_at": now}
    dialect = db.session.connection().dialect.name
    db.session.execute(
        insert_or_update(dialect, UserPreference, values, unique=["user_id"], changes={**changes, "updated_at": now})
    )
    return db.session.get_one(UserPreference, user.id, populate_existing=True)
