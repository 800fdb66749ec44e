"""Rules for setting a password that was compared and hashed before the transaction."""

import sqlalchemy as sa

from app.core.errors import Conflict, InvalidRequest
from app.extensions import db
from app.models.login import OneTimeCode
from app.models.user import User
from app.resources.user.locks import lock_user
from app.security.passwords import password_error


class InvalidPassword(InvalidRequest):
    """The current password is missing or wrong (400)."""

    code, message = "INVALID_PASSWORD", "The current password is wrong"


def check_new(password: str, user: User) -> None:
    """Check a new password against the e-mail address of the user.

    Raises:
        InvalidRequest: with the path `newPassword`.
    """
    if fault := password_error(password, user.email):
        raise InvalidRequest.field("newPassword", f"{fault}.")


def replace(user: User, password_hash: str, *, was: str | None) -> None:
    """Set the hash if the password has not changed since it was compared with `was`.

    Raises:
        AccountDeleted: another request deleted the account.
        Conflict: another request changed the password.
    """
    if lock_user(user.id).password_hash != was:
        raise Conflict("Another request changed the password. Try again")
    set_hash(user, password_hash)


def set_hash(user: User, password_hash: str) -> None:
    """Set the hash. Codes and reset tokens of the user become invalid."""
    user.password_hash = password_hash
    db.session.flush()
    ours = OneTimeCode.user_id == user.id
    db.session.execute(sa.update(OneTimeCode).where(ours).values(code_hash=None, expires_at=None))
