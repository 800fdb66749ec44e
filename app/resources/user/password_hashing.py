"""Hashing and comparison of passwords without a database connection, because both take long."""

from app.database import session
from app.extensions import current_settings
from app.security.passwords import hash_password, verify_password


def hashed(password: str) -> str:
    """Return the hash to store.

    Raises:
        ServiceUnavailable: too many passwords are being hashed.
    """
    session.release_connection()
    return hash_password(password, limits=current_settings().limits.password)


def matches(stored: str | None, password: str) -> bool:
    """Return whether a password matches the stored hash. A missing hash takes the same time.

    Raises:
        ServiceUnavailable: too many passwords are being hashed.
    """
    session.release_connection()
    return verify_password(stored, password, limits=current_settings().limits.password)
