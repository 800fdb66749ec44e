"""Setting a user's password, once it was compared and hashed outside of any transaction."""

import sqlalchemy as sa

from app.core.errors import Conflict, Invalid
from app.core.passwords import password_fault
from app.extensions import db
from app.models.login import OneTimeCode
from app.models.user import User


class InvalidPassword(Invalid):
    """The present password, needed to go on, is missing or wrong (400)."""

    code, message = "INVALID_PASSWORD", "The password is not right"


def check_new(password: str, user: User) -> None:
    """Refuse a new password that the user's e-mail gives away.

    Raises:
        Invalid: with the path `newPassword`.
    """
    if fault := password_fault(password, user.email):
        raise Invalid.field("newPassword", f"{fault}.")


def replace(user: User, password_hash: str, *, was: str | None) -> None:
    """Set the hash, if the password is still the one it was when it was compared.

    Raises:
        Conflict: it was changed meanwhile.
    """
    db.session.refresh(user, ["password_hash"], with_for_update=True)
    if user.password_hash != was:
        raise Conflict("The password was changed a moment ago")
    set_hash(user, password_hash)


def set_hash(user: User, password_hash: str) -> None:
    """Set the hash; codes and reset tokens that are under way end with the old password."""
    user.password_hash = password_hash
    db.session.flush()
    ours = OneTimeCode.user_id == user.id
    db.session.execute(sa.update(OneTimeCode).where(ours).values(code_hash=None, expires_at=None))
