"""Names of files from texts of any script: of new pages from their titles, and of uploaded images."""

import re
import unicodedata
from enum import StrEnum

from anyascii import anyascii

from app.content.text import marks, term_pattern

MAX_SLUG = 80
MAX_SLUG_BYTES = 180
"""A name has at most 255 bytes, with the date that a template may add."""
_MAX_TITLE = 500
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]")
_APOSTROPHES = re.compile("['\u2019]")
_WITHOUT_APOSTROPHES, _WITH_AND = ("hugo", "astro", "eleventy"), "eleventy"
"""Generators whose slugs join the letters around an apostrophe, and the one that writes `&` as a word."""

_ACCENTS = re.compile("[\u0300-\u036f]+")


class SlugForm(StrEnum):
    """The letters of a file name: those of the title, those without accents, or their transliteration."""

    UNICODE = "unicode"
    UNACCENTED = "unaccented"
    ASCII = "ascii"


def slug_of(title: str, form: SlugForm = SlugForm.UNICODE, *, generator: str | None = None) -> str:
    """Return a file name for a title: letters and digits of any script with their marks, separated by hyphens.

    Apostrophes and `&` become what the generator of the site makes of them in its own addresses.
    """
    text = unicodedata.normalize("NFC", title[:_MAX_TITLE])
    if generator in _WITHOUT_APOSTROPHES:
        text = _APOSTROPHES.sub("", text)
    if generator == _WITH_AND:
        text = text.replace("&", " and ")
    if form is SlugForm.UNACCENTED:
        text = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))
    elif form is SlugForm.ASCII:
        text = anyascii(text)
    # Lower-case letters of Turkish: the dot of a capital I is not a separate mark.
    text = _INVISIBLE.sub("", text).casefold().replace("i\u0307", "i")
    return _shortened("-".join(term_pattern().findall(text))).strip("-")


def file_name_of(name: str) -> str:
    """Return the name of an uploaded file with hyphens for all but letters, digits, marks, `_`, `.` and `-`."""
    text = _INVISIBLE.sub("", unicodedata.normalize("NFC", name))
    return re.sub(rf"[^\w.{marks()}-]+", "-", text).strip("-.")


def _shortened(slug: str) -> str:
    """Return the start of a slug that is short enough. A letter is not separated from its marks."""
    short = slug[:MAX_SLUG].encode()[:MAX_SLUG_BYTES].decode(errors="ignore")
    end = len(short)
    while 0 < end < len(slug) and unicodedata.category(slug[end])[0] == "M":
        end -= 1
    return slug[:end]
