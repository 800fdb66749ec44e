"""Tokens, codes and encryption at rest; knows no table, only the place (`table:row:field`) a secret is bound to."""

import base64
import binascii
import hashlib
import os
import secrets
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

TOKEN_BYTES = 32
NONCE_BYTES = 12


def new_token() -> str:
    """A fresh 256-bit token that may stand in a URL or a cookie."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def hash_token(token: str) -> str:
    """SHA-256 in hex: what is stored of a token. Tokens have 256 random bits, so no salt and no slowness is needed."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def new_code() -> str:
    """A fresh code of 6 digits, each of the million equally likely."""
    return f"{secrets.randbelow(1_000_000):06d}"


class TamperedSecret(Exception):
    """A stored secret cannot be read: changed, moved to another row or field, or its key is not in the keyring."""


class Keyring:
    """AES-256-GCM with named keys: the first encrypts, all decrypt.

    A stored secret is `<key id>:<base64 of nonce and ciphertext>`. The place it is stored at is authenticated with it,
    so a ciphertext copied to another row or field does not decrypt.
    """

    def __init__(self, keys: Sequence[tuple[str, bytes]]) -> None:
        """Take `(key id, 32 bytes)` pairs, the encrypting one first."""
        if not keys:
            raise ValueError("a keyring needs at least one key")
        self._first = keys[0][0]
        self._ciphers = {kid: AESGCM(key) for kid, key in keys}

    def encrypt(self, plaintext: str, *, aad: str) -> str:
        """Encrypt for the place `aad` (`table:row:field`)."""
        nonce = os.urandom(NONCE_BYTES)
        sealed = self._ciphers[self._first].encrypt(nonce, plaintext.encode(), aad.encode())
        return f"{self._first}:{base64.b64encode(nonce + sealed).decode()}"

    def decrypt(self, stored: str, *, aad: str) -> str:
        """Decrypt what `encrypt` made for the same place.

        Raises:
            TamperedSecret: it was not made for this place by a key of this ring.
        """
        kid, _, encoded = stored.partition(":")
        cipher = self._ciphers.get(kid)
        if cipher is None:
            raise TamperedSecret("the key of a stored secret is not in the keyring")
        try:
            raw = base64.b64decode(encoded, validate=True)
            if base64.b64encode(raw).decode() != encoded:
                raise TamperedSecret("a stored secret was changed")  # several texts decode to one; one was written
            return cipher.decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], aad.encode()).decode()
        except (InvalidTag, binascii.Error, ValueError) as error:
            raise TamperedSecret("a stored secret was changed or moved") from error

    def needs_rotation(self, stored: str) -> bool:
        """Whether another key than the first encrypted it."""
        return stored.partition(":")[0] != self._first
