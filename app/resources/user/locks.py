"""Row locks of users."""

import sqlalchemy as sa

from app.core.errors import NotAuthenticated
from app.extensions import db
from app.models.user import User


class AccountDeleted(NotAuthenticated):
    """Another request deleted the account (401)."""

    message = "The account no longer exists"


def lock_user(user_id: str) -> User:
    """Lock a user until the transaction ends and read the row again. References to the row stay possible.

    Raises:
        AccountDeleted: another request deleted the account.
    """
    user = db.session.scalar(
        sa.select(User)
        .where(User.id == user_id)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    )
    if user is None:
        raise AccountDeleted
    return user
