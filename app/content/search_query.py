"""Parser of search queries. It accepts every text.

`word`, `wor*` (begins with, from three letters on), `"several words"` (in that order), `path:part`, `type:markdown`,
`field:value` of the front matter. All terms must be met.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from app.content.text import marks, term_pattern
from app.content.words import fold, is_single_character, query_terms

MAX_TERMS = 8
MIN_PREFIX_BYTES, MAX_PREFIXES = 3, 2
"""A shorter prefix of a text, and a third one, match as a whole word. A database reads all words of each prefix."""


@cache
def _term_pattern() -> re.Pattern[str]:
    return re.compile(rf'(?:([^\W\d_][\w.{marks()}-]*):(?=["\w]))?(?:"([^"]*)"?|([^\s"]+))(\*)?')


@cache
def _in_term() -> re.Pattern[str]:
    return re.compile(rf"[\w{marks()}]")


def _without_edges(part: str) -> str:
    """Remove punctuation at both ends."""
    start, end = _in_term().search(part), _in_term().search(part[::-1])
    return part[start.start() : len(part) - end.start()] if start and end else ""


class TermField(StrEnum):
    """The part of a file that a term applies to."""

    ANYWHERE = "anywhere"
    PATH = "path"
    FIELD = "field"


@dataclass(frozen=True)
class Term:
    """Consecutive words. If `is_prefix`, the last one is a prefix. A path must contain `part`."""

    tokens: tuple[str, ...]
    part: str
    where: TermField = TermField.ANYWHERE
    is_prefix: bool = False


@dataclass(frozen=True)
class ParsedQuery:
    """Terms, all of which must match, and the requested file types."""

    terms: tuple[Term, ...]
    types: tuple[str, ...] = ()


def field_name(name: str) -> str:
    """Return a front matter key as it is written in field terms."""
    folded = fold(name)
    return folded if folded.isalnum() else "_".join(term_pattern().findall(folded))


def field_term(name: str, token: str) -> str:
    """Return the stored term for a field `name` that contains `token`. No word of a text starts with an equals sign."""
    return f"={name}={token}"


def parse(text: str) -> ParsedQuery:
    """Parse a query. Terms after the eighth and terms without a letter or digit are ignored."""
    terms: list[Term] = []
    types: list[str] = []
    prefixes = 0
    for match in _term_pattern().finditer(text):
        field, quoted, plain, star = match.groups()
        value = quoted if quoted is not None else plain
        if field and field.lower() == "type":
            types.append(value.lower())
            continue
        is_prefix = prefixes < MAX_PREFIXES and (bool(star) or value.endswith("*"))
        if (term := _term(field, value, is_prefix=is_prefix)) is not None:
            terms.append(term)
            prefixes += term.is_prefix
    return ParsedQuery(tuple(dict.fromkeys(terms))[:MAX_TERMS], tuple(types))


def _term(field: str | None, value: str, *, is_prefix: bool) -> Term | None:
    tokens, part = query_terms(value), fold(value.strip("*"))
    if not tokens:
        return None
    is_start = is_single_character(tokens[-1])
    if field is None:
        is_prefix = is_start or (is_prefix and len(tokens[-1].encode()) >= MIN_PREFIX_BYTES)
        return Term(tuple(tokens), _without_edges(part), is_prefix=is_prefix)
    if field.lower() == "path":
        return Term((), part, TermField.PATH)
    name = field_name(field)
    return Term(tuple(field_term(name, token) for token in tokens), part, TermField.FIELD, is_prefix or is_start)
