"""What storage keys look like: the folder, what the bytes are, and a token that makes every upload its own.

Two people who upload the same picture get two objects, so that neither can delete the other's. The file's name is
never part of a key.
"""

import hashlib
import hmac
import re
import secrets
from enum import StrEnum


class Folder(StrEnum):
    """Where an upload is filed; says nothing about rights."""

    USERS = "users"
    ORGS = "orgs"
    SITES = "sites"


VARIANTS = "variants/"
WIDTHS = (64, 128, 256, 512, 1024, 2048)
HASH_CHARACTERS, TOKEN_BYTES, SIGNATURE_CHARACTERS = 32, 8, 32

_KEY = re.compile(r"(?:users|orgs|sites)/[0-9a-f]{32}-[0-9a-f]{16}\.(?:png|jpg|webp|gif|avif)")


def new_key(folder: str, sha256: str, extension: str) -> str:
    """A key of its own for an upload of those bytes."""
    return f"{folder}/{sha256[:HASH_CHARACTERS]}-{secrets.token_hex(TOKEN_BYTES)}.{extension}"


def is_key(value: str) -> bool:
    """Whether it could be a key of ours."""
    return _KEY.fullmatch(value) is not None


def variants_of(key: str) -> str:
    """What the keys of all variants of an asset start with, and no other key does."""
    return f"{VARIANTS}{key}/"


def variant_key(key: str, width: int) -> str:
    """Where the asset is kept at that width."""
    return f"{variants_of(key)}{width}"


def asset_key(stored: str) -> str:
    """The asset an object belongs to, which is itself unless it is a variant."""
    return stored.removeprefix(VARIANTS).rpartition("/")[0] if stored.startswith(VARIANTS) else stored


def signature(key: str, width: int, secret: str) -> str:
    """What the address of a variant must carry, so that nobody but this service decides which are made."""
    signed = hmac.new(secret.encode(), f"media-variant\0{key}\0{width}".encode(), hashlib.sha256)
    return signed.hexdigest()[:SIGNATURE_CHARACTERS]
