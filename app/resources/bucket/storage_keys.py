"""Format of storage keys: the folder, half of the SHA-256 of the bytes, and a random token.

Two users who upload the same image have two objects, so that neither can delete the object of the other. The name of
the file is never part of a key.
"""

import hashlib
import hmac
import re
import secrets
from enum import StrEnum

VARIANTS = "variants/"
WIDTHS = (64, 128, 256, 512, 1024, 2048)
HASH_CHARACTERS, TOKEN_BYTES, SIGNATURE_CHARACTERS = 32, 8, 32
_KEY = re.compile(r"(?:users|orgs|sites)/[0-9a-f]{32}-[0-9a-f]{16}\.(?:png|jpg|webp|gif|avif)")


class Folder(StrEnum):
    """A folder of uploads. It does not affect permissions."""

    USERS = "users"
    ORGS = "orgs"
    SITES = "sites"


def new_key(folder: str, sha256: str, extension: str) -> str:
    """Return a new unique key for an upload of these bytes."""
    return f"{folder}/{sha256[:HASH_CHARACTERS]}-{secrets.token_hex(TOKEN_BYTES)}.{extension}"


def is_key(value: str) -> bool:
    """Return True if the text has the format of a key."""
    return _KEY.fullmatch(value) is not None


def variants_of(key: str) -> str:
    """Return the prefix of the keys of all variants of an asset."""
    return f"{VARIANTS}{key}/"


def variant_key(key: str, width: int) -> str:
    """Return the key of the variant with that width."""
    return f"{variants_of(key)}{width}"


def asset_key(stored: str) -> str:
    """Return the key of the asset of an object. A variant belongs to its original."""
    return stored.removeprefix(VARIANTS).rpartition("/")[0] if stored.startswith(VARIANTS) else stored


def signature(key: str, width: int, secret: str) -> str:
    """Return the signature in the URL of a variant. Only this service decides which variants are created."""
    signed = hmac.new(secret.encode(), f"media-variant\0{key}\0{width}".encode(), hashlib.sha256)
    return signed.hexdigest()[:SIGNATURE_CHARACTERS]
