"""Password policy, hashing and comparison (ASVS 5.0, chapter 6)."""

import re
from functools import cache
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from app.concurrency.threadpool import offload_hash
from app.core.errors import ErrorMessage
from app.core.limits import PasswordLimits

SERVICE_NAME = "galley"
COMMON = Path(__file__).with_name("data") / "common_passwords.txt"
LIMITS = PasswordLimits()


def hash_password(password: str, *, limits: PasswordLimits = LIMITS) -> str:
    """Return the argon2id hash to store. Takes about 50 ms in the thread pool with the default costs.

    Raises:
        ServiceUnavailable: the queue of the thread pool is full.
    """
    return offload_hash(_hasher(limits).hash, _bytes(password))


def verify_password(stored: str | None, password: str, *, limits: PasswordLimits = LIMITS) -> bool:
    """Return whether a password matches the stored hash. A missing hash takes the same time and never matches.

    Raises:
        ServiceUnavailable: the queue of the thread pool is full.
    """
    return offload_hash(_matches, stored or _dummy_hash(limits), _bytes(password)) and stored is not None


def password_error(password: str, email: str) -> str | None:
    """Return why a password is refused for the owner of `email`, or None for an accepted one."""
    plain = password.casefold()
    if len(password) < LIMITS.min_characters:
        return ErrorMessage("Use at least %(count)s characters", count=LIMITS.min_characters)
    if len(password) > LIMITS.max_characters or len(_bytes(password)) > LIMITS.max_bytes:
        return f"Use at most {LIMITS.max_characters} characters and {LIMITS.max_bytes} bytes"
    if plain in (email.casefold(), email.casefold().rpartition("@")[0]):
        return ErrorMessage("Do not use your own e-mail address")
    if plain in common_passwords() or re.fullmatch(rf"{SERVICE_NAME}\d*", plain):
        return ErrorMessage("This password is too easy to guess. Choose another one")
    return None


@cache
def common_passwords() -> frozenset[str]:
    """Return the 3,000 most common passwords of 8 or more characters in lower case."""
    return frozenset(line for line in COMMON.read_text().splitlines() if not line.startswith("# "))


def _matches(stored: str, password: bytes) -> bool:
    try:
        return _hasher(LIMITS).verify(stored, password)  # The stored hash contains its costs.
    except (VerificationError, InvalidHashError):
        return False


@cache
def _hasher(limits: PasswordLimits) -> PasswordHasher:
    return PasswordHasher(limits.iterations, limits.memory_kib, limits.parallelism)


@cache
def _dummy_hash(limits: PasswordLimits) -> str:
    """Return the hash with which the passwords of unknown accounts are compared."""
    return hash_password("no account has this password", limits=limits)


def _bytes(password: str) -> bytes:
    """Encode the password as received. A lone surrogate must not raise an error."""
    return password.encode("utf-8", "surrogatepass")
