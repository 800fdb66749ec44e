"""Rules of user accounts: changes, deletion, sign-in methods, and the list of all users."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
import structlog

from app.core.cursors import decode_cursor, paginate
from app.core.errors import InvalidRequest, NotFound
from app.core.ids import HasId
from app.core.limits import SessionLimits
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.login import OneTimeCode, SocialAccount
from app.models.user import User
from app.resources.media_asset.service import image_error, release_image
from app.resources.user.events import user_deleting
from app.resources.user.mail import notify

log = structlog.get_logger(__name__)


CREDENTIAL = "credential"
CURSOR = "user"


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
    social = [
        SignInMethod(identity.id, identity.provider, identity.subject, identity.created_at, identity.updated_at)
        for identity in linked
    ]
    own = [SignInMethod(user.id, CREDENTIAL, user.id, user.created_at, user.updated_at)] if user.password_hash else []
    return own + social


@dataclass(frozen=True)
class Profile:
    """A user with sign-in methods. Other attributes are read from the user."""

    user: User
    has_password: bool
    accounts: list[SignInMethod]

    def __getattr__(self, name: str) -> object:
        return getattr(self.user, name)


def profile(user: User, *, by: HasId) -> Profile:
    """Return the profile of a user. Access by a platform admin is logged."""
    if by.id != user.id:
        log.info("user.read_by_admin", user_id=user.id, admin_id=by.id)
    return Profile(user, user.password_hash is not None, sign_in_methods(user))


def update(user: User, changes: Mapping[str, Any]) -> User:
    """Change the name or the image of a user.

    Raises:
        InvalidRequest: the user may not use the image.
    """
    if "name" in changes:
        user.name = changes["name"]
    if "image" in changes:
        _change_image(user, changes["image"] or None)
    db.session.flush()
    return user


def _change_image(user: User, key: str | None) -> None:
    fault = image_error(key, user.id) if key else None
    if fault:
        raise InvalidRequest.field("image", f"{fault}.")
    old, user.image = user.image, key
    db.session.flush()
    if old != key:
        release_image(old, user_id=user.id)


def change_country(user: User, country: str) -> User:
    """Set the country of residence (alpha-2)."""
    user.country = country
    db.session.flush()
    return user


def change_newsletter(user: User, *, subscribed: bool) -> User:
    """Subscribe to the newsletter or unsubscribe from it."""
    user.subscribed = subscribed
    db.session.flush()
    return user


def is_fresh(authenticated_at: datetime, *, limits: SessionLimits) -> bool:
    """Return whether a session is recent enough to delete the account without the password."""
    return authenticated_at > utcnow_ms() - timedelta(seconds=limits.fresh_s)


def delete(user: User, *, reason: str | None) -> dict[str, bool]:
    """Delete a user with all data and enqueue a confirmation mail.

    Foreign keys delete the rows. Subscribers of `user_deleting` enqueue jobs for objects outside the database.

    Raises:
        Conflict: the user owns an organization with other members.
        NotFound: another request deleted the account.
    """
    locked = db.session.scalar(
        sa.select(User).where(User.id == user.id).with_for_update().execution_options(populate_existing=True)
    )
    if locked is None:
        raise NotFound("User not found")
    notify(locked, "account_deleted")
    user_deleting.publish(locked)
    db.session.flush()
    # Rows of codes belong to the e-mail address, so no foreign key deletes them.
    db.session.execute(sa.delete(OneTimeCode).where(OneTimeCode.email_key == locked.email_key))
    db.session.execute(sa.delete(User).where(User.id == locked.id))
    log.info("user.deleted", user_id=locked.id, reason=reason)
    db.session.expunge(locked)
    return {"deleted": True}


@dataclass(frozen=True)
class UserPage:
    """Users by id. `next_cursor` is None on the last page."""

    users: Sequence[User]
    next_cursor: str | None


def list_users(search: str = "", *, limit: int, cursor: str | None = None) -> UserPage:
    """Return users whose e-mail address contains a text.

    Raises:
        InvalidRequest: the cursor belongs to another list.
    """
    statement = sa.select(User).where(User.email_key.contains(search.strip().lower(), autoescape=True))
    if cursor:
        statement = statement.where(User.id > decode_cursor(cursor, CURSOR))
    rows = db.session.scalars(statement.order_by(User.id).limit(limit + 1)).all()
    return UserPage(*paginate(rows, limit, CURSOR, lambda user: user.id))
