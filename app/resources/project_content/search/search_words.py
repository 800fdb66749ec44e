"""Full-text storage and queries of each database: FTS5 on SQLite, a text-search vector on PostgreSQL.

Both receive separate words (`app.content.words`). Words contain letters, digits, `_` and `=` only, so input of users is
never read as syntax. The project's id is a word of the full-text index, which excludes other projects.
"""

from collections.abc import Callable, Sequence

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import REGCLASS, TSQUERY

from app.content.search_query import Term, field_term
from app.content.search_text import SearchText
from app.models.content_search import FTS_TABLE, TEXT_INDEX, ContentText

Pack = Callable[[str, SearchText], str]
_MAX_POSITION, _MAX_POSITIONS = 16_383, 200
_TITLE = field_term("title", "")
_GAP = "="
"""Separates parts of a text, so that no phrase matches across them."""
_BY_LENGTH, _BELOW_ONE = 1, 32
_FTS = sa.table(FTS_TABLE)
_TABLE: sa.ColumnElement[str] = sa.literal_column(FTS_TABLE)
_ROWID: sa.ColumnElement[int] = sa.literal_column(f"{FTS_TABLE}.rowid", sa.Integer)


def packer(dialect: str) -> Pack:
    """Return the function that converts a text to the value of the column `words`."""
    return _pack_vector if dialect == "postgresql" else _pack_fts


def _pack_fts(_project_id: str, text: SearchText) -> str:
    return " ".join([*text.field_terms, _GAP, *text.terms])


def _pack_vector(project_id: str, text: SearchText) -> str:
    """Return a `tsvector` literal. Words of the title have the weight A, words of other fields B."""
    positions: dict[str, list[int]] = {}
    for position, token in enumerate(text.field_terms, 2):
        positions.setdefault(token, []).append(position)
    lexemes = [f"'={project_id}':1"]
    lexemes += [_entry(token, at, "A" if token.startswith(_TITLE) else "B") for token, at in positions.items()]
    positions = {}
    for position, token in enumerate(text.terms, 3 + len(text.field_terms)):
        at = positions.get(token)
        if at is None:
            positions[token] = [position]
        else:
            at.append(position)
    lexemes += [_entry(token, at, "") for token, at in positions.items()]
    return " ".join(lexemes)


def _entry(token: str, positions: list[int], weight: str) -> str:
    if len(positions) == 1 and positions[0] <= _MAX_POSITION:
        return f"'{token}':{positions[0]}{weight}"
    return f"'{token}':{','.join(f'{min(position, _MAX_POSITION)}{weight}' for position in positions[:_MAX_POSITIONS])}"


def matching(dialect: str, project_id: str, term: Term) -> sa.Select[str]:
    """Select the shas of the texts of a project that contain a term."""
    if dialect == "postgresql":
        return _in_vectors(project_id, _vector_term(term))
    return _in_fts(project_id, _fts_term(term))


def ranking(dialect: str, project_id: str, terms: Sequence[Term], *, is_few: bool = False) -> sa.Select[str, float]:
    """Select the shas of the texts that contain all terms, with a rank between 0 and 1, unordered.

    FTS5 reads all texts with a prefix a second time for their ranks, so on SQLite they are 0 unless `is_few`.
    """
    if dialect == "postgresql":
        query = " & ".join(map(_vector_term, terms))
        rank = sa.func.ts_rank(ContentText.words, _tsquery(query), _BY_LENGTH | _BELOW_ONE)
        return _in_vectors(project_id, query).add_columns(rank.label("rank"))
    matches = _in_fts(project_id, " AND ".join(map(_fts_term, terms)))
    if not is_few and any(term.is_prefix for term in terms):
        return matches.add_columns(sa.literal(0.0).label("rank"))
    score: sa.ColumnElement[float] = -sa.func.bm25(_TABLE, 0.0, 1.0)
    return matches.add_columns((score / (score + 4.0)).label("rank"))


def merge_new_texts(connection: sa.Connection) -> None:
    """Move new texts from the list of pending entries of PostgreSQL into its index.

    Each search reads this list completely.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.gin_clean_pending_list(sa.cast(TEXT_INDEX, REGCLASS))))


def _in_fts(project_id: str, query: str) -> sa.Select[str]:
    """Select texts by the full-text index only.

    With a condition on other columns SQLite queries the index once per text.
    """
    matches = _TABLE.op("MATCH", is_comparison=True)(f'project_id : "{project_id}" AND words : ({query})')
    return sa.select(ContentText.sha).join(_FTS, ContentText.id == _ROWID).where(matches)


def _fts_term(term: Term) -> str:
    return f'"{" ".join(term.tokens)}"' + (" *" if term.is_prefix else "")


def _in_vectors(project_id: str, query: str) -> sa.Select[str]:
    scoped = _tsquery(f"{_lexeme(f'={project_id}')} & ({query})")
    return sa.select(ContentText.sha).where(ContentText.words.op("@@", is_comparison=True)(scoped))


def _tsquery(query: str) -> sa.ColumnElement[str]:
    return sa.cast(query, TSQUERY)


def _lexeme(token: str) -> str:
    return f"'{token}'"


def _vector_term(term: Term) -> str:
    *before, last = term.tokens
    return "(" + " <-> ".join([*map(_lexeme, before), _lexeme(last) + (":*" if term.is_prefix else "")]) + ")"
