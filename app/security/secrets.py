"""Tokens, codes and encryption at rest. A secret is bound to its `table:row:field`.

An API token has a prefix, 256 random bits and a checksum in base62. The checksum detects mistyped and truncated tokens
without a query. The prefix lets scanners find tokens in public text.
"""

import base64
import binascii
import hashlib
import os
import secrets
import string
import zlib
from collections.abc import Sequence
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

TOKEN_BYTES = 32
TOKEN_LENGTH = TOKEN_BYTES * 4 // 3 + 1
NONCE_BYTES = 12
KNOWN_PREFIX = "glly_"
ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
RANDOM_CHARACTERS, CHECKSUM_CHARACTERS, HINT_CHARACTERS = 43, 6, 4
API_TOKEN_LENGTH = len(KNOWN_PREFIX) + RANDOM_CHARACTERS + CHECKSUM_CHARACTERS


def new_token() -> str:
    """Return a new 256-bit token that is valid in URLs and cookies."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def hash_token(token: str) -> str:
    """Return the stored hash of a token: SHA-256 in hex. Tokens with 256 random bits need no salt and no slow hash."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def new_code() -> str:
    """Return a new random code of 6 digits."""
    return f"{secrets.randbelow(1_000_000):06d}"


class TamperedSecret(Exception):
    """A stored secret was changed or moved, or its key is not in the keyring."""


class Keyring:
    """An AES-256-GCM keyring with named keys. The first key encrypts, all keys decrypt.

    A stored secret is `<key id>:<base64 of nonce and ciphertext>`. Its row and field are authenticated, so a ciphertext
    that was copied to another row or field cannot be decrypted.
    """

    def __init__(self, keys: Sequence[tuple[str, bytes]]) -> None:
        """Store `(key id, 32 bytes)` pairs. The first pair encrypts."""
        if not keys:
            raise ValueError("a keyring needs at least one key")
        self._first = keys[0][0]
        self._ciphers = {kid: AESGCM(key) for kid, key in keys}

    def encrypt(self, plaintext: str, *, aad: str) -> str:
        """Encrypt a text for `aad` (`table:row:field`)."""
        nonce = os.urandom(NONCE_BYTES)
        sealed = self._ciphers[self._first].encrypt(nonce, plaintext.encode(), aad.encode())
        return f"{self._first}:{base64.b64encode(nonce + sealed).decode()}"

    def decrypt(self, stored: str, *, aad: str) -> str:
        """Decrypt a stored secret for the same `aad`.

        Raises:
            TamperedSecret: no key of this keyring encrypted the secret for `aad`.
        """
        kid, _, encoded = stored.partition(":")
        cipher = self._ciphers.get(kid)
        if cipher is None:
            raise TamperedSecret("the key of a stored secret is not in the keyring")
        try:
            raw = base64.b64decode(encoded, validate=True)
            if base64.b64encode(raw).decode() != encoded:
                raise TamperedSecret("a stored secret was changed")  # Several base64 texts decode to the same bytes.
            return cipher.decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], aad.encode()).decode()
        except (InvalidTag, binascii.Error, ValueError) as error:
            raise TamperedSecret("a stored secret was changed or moved") from error

    def needs_rotation(self, stored: str) -> bool:
        """Return whether another key than the first encrypted the secret."""
        return stored.partition(":")[0] != self._first


SecretFields = tuple[Any, tuple[str, ...]]
"""A table, and the names of its fields with secrets. Their columns have the suffix `_secret`."""


def associated_data(table: str, row_id: str, field: str) -> str:
    """Return the associated data of a secret."""
    return f"{table}:{row_id}:{field}"


def new_api_token() -> str:
    """Return a new token such as `glly_…` with 54 characters."""
    body = KNOWN_PREFIX + "".join(secrets.choice(ALPHABET) for _ in range(RANDOM_CHARACTERS))
    return body + checksum(body)


def is_api_token(text: str) -> bool:
    """Return whether the text has the form and the checksum of a token."""
    return (
        len(text) == API_TOKEN_LENGTH
        and text.isascii()
        and text.startswith(KNOWN_PREFIX)
        and text[-CHECKSUM_CHARACTERS:] == checksum(text[:-CHECKSUM_CHARACTERS])
    )


def checksum(text: str) -> str:
    """Return the CRC-32 of an ASCII text as six characters of base62."""
    number, digits = zlib.crc32(text.encode("ascii")), ""
    for _ in range(CHECKSUM_CHARACTERS):
        number, digit = divmod(number, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits


def hint_of(token: str) -> str:
    """Return the last characters of a token, by which its owner recognizes it."""
    return token[-HINT_CHARACTERS:]
