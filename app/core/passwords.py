"""Which passwords are taken, and how they are hashed and compared (ASVS 5.0, chapter 6); knows no user."""

import re
from functools import cache
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from app.core.limits import PasswordLimits
from app.core.threadpool import offload

SERVICE_NAME = "galley"
COMMON = Path(__file__).with_name("data") / "common_passwords.txt"
LIMITS = PasswordLimits()
_hasher = PasswordHasher(time_cost=LIMITS.iterations, memory_cost=LIMITS.memory_kib, parallelism=LIMITS.parallelism)


def hash_password(password: str) -> str:
    """The argon2id hash to store; takes about 50 ms, off the hub.

    Raises:
        Unavailable: too many hashes are under way.
    """
    return offload(_hasher.hash, _bytes(password))


def verify_password(stored: str | None, password: str) -> bool:
    """Whether the password is the stored one; without a stored one it takes as long and is never right.

    Raises:
        Unavailable: too many hashes are under way.
    """
    return offload(_matches, stored or _dummy(), _bytes(password)) and stored is not None


def password_fault(password: str, email: str) -> str | None:
    """Why this password is refused for the owner of `email`, as a sentence; None when it is taken."""
    plain = password.casefold()
    if len(password) < LIMITS.min_characters:
        return f"Use at least {LIMITS.min_characters} characters"
    if len(password) > LIMITS.max_characters or len(_bytes(password)) > LIMITS.max_bytes:
        return f"Use at most {LIMITS.max_characters} characters and {LIMITS.max_bytes} bytes"
    if plain in (email.casefold(), email.casefold().rpartition("@")[0]):
        return "Do not use your own e-mail address"
    if plain in common_passwords() or re.fullmatch(rf"{SERVICE_NAME}\d*", plain):
        return "This password is too easy to guess; choose another one"
    return None


@cache
def common_passwords() -> frozenset[str]:
    """The 3,000 most common passwords of 8 or more characters, lower case."""
    return frozenset(line for line in COMMON.read_text().splitlines() if not line.startswith("# "))


def _matches(stored: str, password: bytes) -> bool:
    try:
        return _hasher.verify(stored, password)
    except (VerificationError, InvalidHashError):
        return False


@cache
def _dummy() -> str:
    """What an unknown account's password is compared with, so that the answer takes as long."""
    return hash_password("no account has this password")


def _bytes(password: str) -> bytes:
    """The password as received; a lone surrogate, which no client can type, must not be an error of ours."""
    return password.encode("utf-8", "surrogatepass")
