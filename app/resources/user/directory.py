"""The list of all users, for platform admins and operators."""

from dataclasses import dataclass

import sqlalchemy as sa

from app.core.cursors import decode_cursor, encode_cursor
from app.extensions import db
from app.models.user import User

CURSOR = "user"


@dataclass(frozen=True)
class UserPage:
    """Users by id. `next_cursor` is None on the last page."""

    users: list[User]
    next_cursor: str | None


def list_users(search: str = "", *, limit: int, cursor: str | None = None) -> UserPage:
    """Return users whose e-mail address contains a text.

    Raises:
        InvalidRequest: the cursor belongs to another list.
    """
    statement = sa.select(User).where(User.email_key.contains(search.strip().lower(), autoescape=True))
    if cursor:
        statement = statement.where(User.id > decode_cursor(cursor, CURSOR))
    rows = list(db.session.scalars(statement.order_by(User.id).limit(limit + 1)))
    users = rows[:limit]
    return UserPage(users, encode_cursor(CURSOR, users[-1].id) if len(rows) > limit else None)
