"""What a person typed into a search field, as terms; never fails, whatever was typed.

`word`, `word*` (begins with), `"several words"` (in that order), `path:part`, `type:markdown`, `field:value` of the front
matter. All terms must be met.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from app.core.content.words import fold, is_single_character, wanted_words

MAX_TERMS = 8
_TERM = re.compile(r'(?:([^\W\d_][\w.-]*):(?=["\w]))?(?:"([^"]*)"?|([^\s"]+))(\*)?')
_NOT_IN_FIELD = re.compile(r"[\W_]+")
_EDGES = re.compile(r"^\W+|\W+$")


class Where(StrEnum):
    """Where a term is looked for."""

    ANYWHERE = "anywhere"
    PATH = "path"
    FIELD = "field"


@dataclass(frozen=True)
class Term:
    """Words that stand one after another, the last perhaps only begun; `part` is what a path must hold."""

    words: tuple[str, ...]
    part: str
    where: Where = Where.ANYWHERE
    begun: bool = False


@dataclass(frozen=True)
class Question:
    """The terms, all of which must be met, and the types of file asked for."""

    terms: tuple[Term, ...]
    types: tuple[str, ...] = ()


def field_name(name: str) -> str:
    """A front matter key as it stands in field words."""
    return _NOT_IN_FIELD.sub("_", fold(name)).strip("_")


def field_word(name: str, word: str) -> str:
    """The stored word that says `name` holds `word`; no word of a text begins with an equals sign."""
    return f"={name}={word}"


def parse(text: str) -> Question:
    """Read a question; terms beyond the eighth, and what holds no letter or digit, are left out."""
    terms: list[Term] = []
    types: list[str] = []
    for match in _TERM.finditer(text):
        field, quoted, plain, star = match.groups()
        value = quoted if quoted is not None else plain
        if field and field.lower() == "type":
            types.append(value.lower())
        elif (term := _term(field, value, begun=bool(star) or value.endswith("*"))) is not None:
            terms.append(term)
    return Question(tuple(dict.fromkeys(terms))[:MAX_TERMS], tuple(types))


def _term(field: str | None, value: str, *, begun: bool) -> Term | None:
    found, part = wanted_words(value), fold(value.strip("*"))
    if not found:
        return None
    begun = begun or is_single_character(found[-1])
    if field is None:
        return Term(tuple(found), _EDGES.sub("", part), begun=begun)
    if field.lower() == "path":
        return Term((), part, Where.PATH)
    name = field_name(field)
    return Term(tuple(field_word(name, word) for word in found), part, Where.FIELD, begun)
