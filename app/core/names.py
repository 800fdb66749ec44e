"""Rules for the names of users, organizations and projects. Used by schemas and by the social login."""

import re
import unicodedata

from app.core.errors import ErrorMessage

_LINE_BREAKS_AND_CONTROLS = frozenset({"Cc", "Zl", "Zp"})
# Directional marks are part of Arabic and Hebrew text. Overrides also reorder the text after the name.
_OVERRIDES = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Mail clients turn these forms into links: a scheme, `www.`, and a host name with a port, path or query.
_URL = re.compile(r"[a-z][a-z0-9+.-]{0,40}:/|\bwww\.|\bmailto:|[^\s.]\.[a-z]{2,63}(?::\d+)?[/?#]\S", re.IGNORECASE)
# IDNA reads these characters as the dot between the labels of a host name.
_DOTS = str.maketrans("\u3002\uff0e\uff61", "...")


def name_error(name: str) -> str | None:
    """Return why a text cannot be a name as a sentence, or None for a valid name.

    A valid name is one line with at least one visible character and without a URL.
    """
    if any(map(_is_forbidden, name)):
        return "Must not contain line breaks, control characters or direction overrides."
    if not any(character.isprintable() and not character.isspace() for character in name):
        return ErrorMessage("Must not be empty.")
    if contains_url(name):
        return ErrorMessage("Must not contain a URL.")
    return None


def contains_url(text: str) -> bool:
    """Return whether a text contains a URL, also one written with full-width or invisible characters."""
    return _URL.search(_comparable(text)) is not None


def clean_name(text: str) -> str:
    """Return a valid name made from the text of an external source, or an empty string."""
    line = " ".join("".join(" " if _is_forbidden(character) else character for character in text).split())
    if contains_url(line):
        line = " ".join(re.sub(r"[:/.?#]+", " ", _comparable(line)).split())
    return "" if name_error(line) else line


def _comparable(text: str) -> str:
    visible = "".join(character for character in text if unicodedata.category(character) != "Cf")
    return unicodedata.normalize("NFKC", visible.translate(_DOTS))


def _is_forbidden(character: str) -> bool:
    return character in _OVERRIDES or unicodedata.category(character) in _LINE_BREAKS_AND_CONTROLS
