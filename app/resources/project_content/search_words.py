"""How each store keeps and asks for words: FTS5 on SQLite, a text-search vector on PostgreSQL.

Both get words that are cut already (`app.core.content.words`); words hold letters, digits, `_` and `=` only, so that
nothing anybody typed is ever read as syntax. The project's id is a word of the full-text index itself, which so leaves out
other projects.
"""

from collections.abc import Callable, Sequence

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import TSQUERY

from app.core.content.search_query import Term, field_word
from app.core.content.search_text import SearchText
from app.models.content_search import FTS_TABLE, ContentText

Pack = Callable[[str, SearchText], str]
_MAX_POSITION, _MAX_POSITIONS = 16_383, 200
_TITLE = field_word("title", "")
_GAP = "="
"""Stands between parts of a text, so that no run of words reaches from one into another."""


def packer(dialect: str) -> Pack:
    """What puts a text's words into the form that the store's column `words` takes."""
    return _pack_vector if dialect == "postgresql" else _pack_words


def _pack_words(_project_id: str, text: SearchText) -> str:
    return " ".join([*text.field_words, _GAP, *text.words])


def _pack_vector(project_id: str, text: SearchText) -> str:
    """A `tsvector` literal; what the title holds has the weight A, other fields' words B."""
    places: dict[str, list[str]] = {f"={project_id}": ["1"]}
    position = 2
    for part in (text.field_words, text.words):
        for word in part:
            weight = "A" if word.startswith(_TITLE) else "B" if word.startswith("=") else ""
            found = places.setdefault(word, [])
            if len(found) < _MAX_POSITIONS:
                found.append(f"{min(position, _MAX_POSITION)}{weight}")
            position += 1
        position += 1
    return " ".join(f"'{word}':{','.join(found)}" for word, found in places.items())


def matching(dialect: str, project_id: str, term: Term) -> sa.Select[str]:
    """The shas of the project's texts that hold a term."""
    if dialect == "postgresql":
        return _in_vectors(project_id, _vector_term(term))
    return _in_fts(project_id, _fts_term(term))


def ranking(dialect: str, project_id: str, terms: Sequence[Term]) -> sa.Select[str, float]:
    """The shas of the texts that hold all of the terms, each with a rank between 0 and 1, in no order."""
    if dialect == "postgresql":
        query = " & ".join(map(_vector_term, terms))
        rank = sa.func.ts_rank(ContentText.words, _tsquery(query), _BY_LENGTH | _BELOW_ONE)
        return _in_vectors(project_id, query).add_columns(rank.label("rank"))
    score: sa.ColumnElement[float] = -sa.func.bm25(_TABLE, 0.0, 1.0)
    found = _in_fts(project_id, " AND ".join(map(_fts_term, terms)))
    return found.add_columns((score / (score + 4.0)).label("rank"))


_BY_LENGTH, _BELOW_ONE = 1, 32
_FTS = sa.table(FTS_TABLE)
_TABLE: sa.ColumnElement[str] = sa.literal_column(FTS_TABLE)
_ROWID: sa.ColumnElement[int] = sa.literal_column(f"{FTS_TABLE}.rowid", sa.Integer)


def _in_fts(project_id: str, query: str) -> sa.Select[str]:
    """Nothing is asked of the texts' own columns: SQLite would begin there, and ask the full-text index once a text."""
    matches = _TABLE.op("MATCH", is_comparison=True)(f'project_id : "{project_id}" AND words : ({query})')
    return sa.select(ContentText.sha).join(_FTS, ContentText.id == _ROWID).where(matches)


def _fts_term(term: Term) -> str:
    return f'"{" ".join(term.words)}"' + (" *" if term.begun else "")


def _in_vectors(project_id: str, query: str) -> sa.Select[str]:
    scoped = _tsquery(f"{_lexeme(f'={project_id}')} & ({query})")
    return sa.select(ContentText.sha).where(ContentText.words.op("@@", is_comparison=True)(scoped))


def _tsquery(query: str) -> sa.ColumnElement[str]:
    return sa.cast(query, TSQUERY)


def _lexeme(word: str) -> str:
    return f"'{word}'"


def _vector_term(term: Term) -> str:
    *before, last = term.words
    return "(" + " <-> ".join([*map(_lexeme, before), _lexeme(last) + (":*" if term.begun else "")]) + ")"
