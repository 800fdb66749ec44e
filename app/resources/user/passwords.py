"""Hashing and comparison of passwords without a database connection, and the rules for setting one afterwards."""

import sqlalchemy as sa

from app.core.errors import Conflict, ErrorMessage, InvalidRequest
from app.database import transactions
from app.extensions import current_settings, db
from app.models.login import OneTimeCode
from app.models.user import User
from app.resources.user.locks import lock_user
from app.security.passwords import hash_password, password_error, verify_password


def hashed(password: str) -> str:
    """Return the hash to store.

    Raises:
        ServiceUnavailable: too many passwords are being hashed.
    """
    with transactions.outside_transaction():
        return hash_password(password, limits=current_settings().limits.password)


def matches(stored: str | None, password: str) -> bool:
    """Return whether a password matches the stored hash. A missing hash takes the same time.

    Raises:
        ServiceUnavailable: too many passwords are being hashed.
    """
    with transactions.outside_transaction():
        return verify_password(stored, password, limits=current_settings().limits.password)


class InvalidPassword(InvalidRequest):
    """The current password is missing or wrong (400)."""

    code, message = "INVALID_PASSWORD", ErrorMessage("The current password is wrong")


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
