"""The text of API tokens: a prefix, 256 random bits and a checksum in base62.

The checksum detects mistyped and truncated tokens without a query. The prefix lets scanners find tokens in public text.
"""

import secrets
import string
import zlib

PREFIX = "glly_"
ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
RANDOM_CHARACTERS, CHECKSUM_CHARACTERS, HINT_CHARACTERS = 43, 6, 4
LENGTH = len(PREFIX) + RANDOM_CHARACTERS + CHECKSUM_CHARACTERS


def new_api_token() -> str:
    """Return a new token such as `glly_…` with 54 characters."""
    body = PREFIX + "".join(secrets.choice(ALPHABET) for _ in range(RANDOM_CHARACTERS))
    return body + checksum(body)


def is_api_token(text: str) -> bool:
    """Return whether the text has the form and the checksum of a token."""
    return (
        len(text) == LENGTH
        and text.isascii()
        and text.startswith(PREFIX)
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
