"""What people, organizations and projects may be called; knows neither tables nor forms."""

import unicodedata

_LINE_BREAKS_AND_CONTROLS = frozenset({"Cc", "Zl", "Zp"})
# Marks of direction are letters' company in Arabic and Hebrew; these turn round what stands after the name as well.
_OVERRIDES = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def name_fault(name: str) -> str | None:
    """Say in a sentence why nothing can be called that; None when it can: one line on which something is to be seen."""
    if any(map(_breaks_out, name)):
        return "May not hold line breaks, control characters or overrides of the direction."
    if not any(character.isprintable() and not character.isspace() for character in name):
        return "May not be empty."
    return None


def as_name(text: str) -> str:
    """Text that others gave as a name, on one line; what may not stand in a name becomes a space."""
    return " ".join("".join(" " if _breaks_out(character) else character for character in text).split())


def _breaks_out(character: str) -> bool:
    return character in _OVERRIDES or unicodedata.category(character) in _LINE_BREAKS_AND_CONTROLS
