"""Values that are prose, by their names and their notation."""

import re

from app.content.field_values import ValueKind, kind_of
from app.content.marks.values import Path

MAX_CHARACTERS = 200
"""The characters of a value that are read."""

_NEVER_NAMES = """
    layout type slug url permalink template tags tag categories category id ref weight aliases alias color colour
    currency email format icon language lang locale key page path route status theme unit username variant website
    class classes css style classname identifier keywords author authors series date lastmod href src link image file
"""
_NEVER = frozenset(_NEVER_NAMES.split())
_NEVER_ENDS = ("class", "parent", "_id", "_url", "_path")
_NEVER_BELOW = frozenset(("seo", "meta", "opengraph", "og"))
_TITLES = frozenset(("title", "heading", "headline", "subtitle", "caption", "description", "summary"))
_MONTHS = """
    jan feb mar apr may jun jul aug sep sept oct nov dec january february march april june july august september
    october november december
"""
_DAYS = "mon tue wed thu fri sat sun monday tuesday wednesday thursday friday saturday sunday"
_TIMES = "am pm utc gmt cet cest est edt cst cdt mst mdt pst pdt bst t z st nd rd th of"
_DATE_TERMS = frozenset(f"{_MONTHS} {_DAYS} {_TIMES}".split())
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}:\S*\Z|//\S")
_PATH = re.compile(r"\.{0,2}/[^\n]*+\Z|[\w.@-]++/[^\n]*\.\w{1,8}\Z|[^\s/]*+/\S*+\Z")
_TEMPLATE = re.compile(r"\{\{|\{%|<%|\$\{|\{\[")
_TERM = re.compile(r"[^\W\d_]{2}")
_LETTERS = re.compile(r"[^\W\d_]++")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Letters of scripts that have no spaces between words."""


def is_technical(value: str) -> bool:
    """Return whether a value is an address, a path, a date, or contains a template."""
    text = value.strip()
    if not _TERM.search(text) and not _UNSPACED.search(text):
        return True
    if _TEMPLATE.search(text) or _SCHEME.match(text):
        return True
    if len(text) > MAX_CHARACTERS or "\n" in text:
        return False
    if _PATH.match(text) or kind_of(text) is not ValueKind.STRING:
        return True
    return any(map(str.isdigit, text)) and all(term.lower() in _DATE_TERMS for term in _LETTERS.findall(text))


def is_prose(path: Path, value: str) -> bool:
    """Return whether a value that no schema describes is prose: two words, or the title of a page."""
    if len(_UNSPACED.findall(value[:MAX_CHARACTERS])) >= 4:
        return True
    terms = [term for term in value[:MAX_CHARACTERS].split() if _TERM.search(term)]
    if len(terms) >= 2:
        return True
    return str(path[-1]).lower() in _TITLES and len(terms) == 1 and value[0].isupper() and value.isalpha()


def is_never(path: Path) -> bool:
    """Return whether the values of a key are no texts of a page in any site."""
    names = [step.lower() for step in path if isinstance(step, str)]
    if not names or names[-1] in _NEVER or names[-1].endswith(_NEVER_ENDS):
        return True
    return any(name in _NEVER_BELOW or name.startswith("_") for name in names)
