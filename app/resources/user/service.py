"""The rules of an account: what its owner changes, how much of the limits is used, and how it goes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import sqlalchemy as sa
import structlog

from app.core.errors import Invalid, NotAllowed, NotFound
from app.core.limits import SessionLimits
from app.extensions import db
from app.models.base import moment
from app.models.login import OneTimeCode, Session
from app.models.media_rules import image_fault, release_image
from app.models.user import User
from app.resources.user import passwords, sessions
from app.resources.user.accounts import WayIn, ways_in
from app.resources.user.events import user_deleting
from app.resources.user.mail import notify
from app.resources.user.sessions import Opened

log = structlog.get_logger(__name__)


class ReauthRequired(NotAllowed):
    """The session is too old for this and no password was given (403)."""

    code, message = "REAUTH_REQUIRED", "Sign in again or give your password to do this"


@dataclass(frozen=True)
class Profile:
    """A user as they see themselves; other attributes are the user's."""

    user: User
    has_password: bool
    accounts: list[WayIn]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.user, name)


def profile(user: User, *, by: User) -> Profile:
    """The user with their ways in; that somebody else (a platform admin) looked is logged."""
    if by.id != user.id:
        log.info("user.read_by_admin", user_id=user.id, admin_id=by.id)
    return Profile(user, user.password_hash is not None, ways_in(user))


def update(user: User, changes: Mapping[str, Any]) -> User:
    """Change the name, or the picture to an image of the user's own.

    Raises:
        Invalid: the image is not one the user may use.
    """
    if "name" in changes:
        user.name = changes["name"]
    if "image" in changes:
        _change_image(user, changes["image"] or None)
    db.session.flush()
    return user


def _change_image(user: User, key: str | None) -> None:
    fault = image_fault(key, user.id) if key else None
    if fault:
        raise Invalid.field("image", f"{fault}.")
    old, user.image = user.image, key
    db.session.flush()
    if old != key:
        release_image(old, user_id=user.id)


def set_password(
    user: User, session: Session, hashes: tuple[str | None, str], *, limits: SessionLimits, link: str
) -> Opened:
    """Replace the password that was compared (the first hash, None where there was none) by a new one.

    Every other session ends; this one gets a new token.
    """
    passwords.replace(user, hashes[1], was=hashes[0])
    sessions.end_all(user.id, but=session.id)
    notify(user, "password_changed", link=link)
    return sessions.renew(session, user, limits=limits)


def change_country(user: User, country: str) -> User:
    """Set the country of residence (alpha-2)."""
    user.country = country
    db.session.flush()
    return user


def change_newsletter(user: User, *, subscribed: bool) -> User:
    """Subscribe to news, or no more."""
    user.subscribed = subscribed
    db.session.flush()
    return user


def is_fresh(session: Session, *, limits: SessionLimits) -> bool:
    """Whether somebody signed in so lately that they need not prove again who they are."""
    return session.created_at > moment() - timedelta(seconds=limits.fresh_s)


def delete(user: User, *, reason: str | None) -> dict[str, bool]:
    """Delete the account with all that is the user's; a mail confirms.

    What other resources keep outside the database, their subscribers of `user_deleting` end. Rows go by foreign key.

    Raises:
        Conflict: the user owns an organization that has other members.
        NotFound: somebody else deleted it a moment ago.
    """
    locked = db.session.scalar(
        sa.select(User).where(User.id == user.id).with_for_update().execution_options(populate_existing=True)
    )
    if locked is None:
        raise NotFound("User not found")
    notify(locked, "account_deleted")
    user_deleting.announce(locked)
    db.session.flush()
    # A code's row is its e-mail's: it outlives the account it was for, and names nobody's id then.
    db.session.execute(sa.delete(OneTimeCode).where(OneTimeCode.email_key == locked.email_key))
    db.session.execute(sa.delete(User).where(User.id == locked.id))
    log.info("user.deleted", user_id=locked.id, reason=reason)
    db.session.expunge(locked)
    return {"deleted": True}
