"""Hashing and comparing passwords, while no database connection is held: both take long, and connections are few."""

from app import transactions
from app.core.passwords import hash_password, verify_password


def hashed(password: str) -> str:
    """The hash to store. Raises Unavailable when too many are under way."""
    transactions.rest()
    return hash_password(password)


def matches(stored: str | None, password: str) -> bool:
    """Whether it is the stored password; without one it takes as long. Raises Unavailable as `hashed` does."""
    transactions.rest()
    return verify_password(stored, password)
