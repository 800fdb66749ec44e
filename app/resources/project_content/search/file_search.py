"""Ranked search in the files of a branch by path, text, type and front matter fields.

A file matches a term if its path contains it or if its text has it as a word. Paths are searched in the index itself,
so they match as soon as it is ready. Texts follow (`search_indexing`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from app.concurrency.threadpool import switch
from app.content.filetypes import endings_of
from app.content.search_query import ParsedQuery, Term, TermField, parse
from app.content.search_text import readable_text
from app.content.words import term_spans, words
from app.core.cursors import decode_position, encode_position
from app.extensions import db
from app.models.base import Row
from app.models.content_search import ContentText
from app.models.project import Project
from app.models.project_content import ContentFile, ContentIndex
from app.resources.project_content.conditions import ESCAPE, escaped, literal_number
from app.resources.project_content.search import search_words

BEFORE, LENGTH = 60, 240
MAX_MARKS, MAX_LOOKED_AT = 20, 16 * 1024
PATH_WEIGHT, TITLE_WEIGHT = 0.5, 0.8
RANKED, BEST, MAX_SCANNED = 3_000, 300, 600
"""The number of texts that are ranked, of ranked texts that precede other files, and of files that are compared."""


@dataclass(frozen=True)
class Snippet:
    """A part of a text on one line, with the positions (start, end) of the matching words."""

    text: str
    marks: list[tuple[int, int]]


def make_snippet(body: str, terms: Sequence[Term]) -> Snippet:
    """Return the text around the first position with the most terms, or the start of the text without a match."""
    matches = _matches(body[:MAX_LOOKED_AT], terms)
    start = _best_start(matches)
    begin = _start_of_next(body, max(0, start - BEFORE))
    piece = body[begin : begin + LENGTH]
    marks = [(a - begin, b - begin) for a, b, _ in matches if begin <= a and b <= begin + len(piece)]
    return Snippet("".join(" " if c.isspace() else c for c in piece), marks[:MAX_MARKS])


def _matches(body: str, terms: Sequence[Term]) -> list[tuple[int, int, int]]:
    """Return (start, end, number of the term) of each matching word."""
    searched = [(number, term) for number, term in enumerate(terms) if term.where is TermField.ANYWHERE]
    whole = {token: number for number, term in searched for token in term.tokens}
    prefixes = [(term.tokens[-1], number) for number, term in searched if term.is_prefix]
    matches = []
    for span in term_spans(body):
        numbers = [whole[token] for token in span.terms if token in whole]
        numbers += [number for start, number in prefixes if any(token.startswith(start) for token in span.terms)]
        if numbers:
            matches.append((span.start, span.end, numbers[0]))
    return matches


def _best_start(matches: Sequence[tuple[int, int, int]]) -> int:
    """Return the start of the first window with the most different terms."""
    best, best_count = 0, 0
    for index, (start, _, _) in enumerate(matches[:500]):
        inside = {number for a, b, number in matches[index : index + 50] if b <= start + LENGTH - BEFORE}
        if len(inside) > best_count:
            best, best_count = start, len(inside)
    return best


def _start_of_next(body: str, start: int) -> int:
    """Return the start of a word near `start`, so that no word is cut."""
    if start == 0:
        return 0
    space = next((index for index in range(start, min(start + 30, len(body))) if body[index].isspace()), None)
    return start if space is None else space + 1


@dataclass(frozen=True)
class SearchResult:
    """A file that matches a query. `snippet` is None until its text is indexed, and for files without text."""

    path: str
    sha: str
    size: int | None
    title: str | None
    score: float
    snippet: Snippet | None


def search_page(
    project: Project, index: ContentIndex | None, q: str, *, kind: str | None, limit: int, cursor: str | None
) -> tuple[list[SearchResult], str | None]:
    """Return a page of the matching files, best first, and the cursor of the next page.

    The cursor is a position. If the files change between two pages, a file can be on both of them or on none.
    """
    start = 0 if cursor is None else decode_position(cursor, "search")[0]
    results = search(project, index, q, kind=kind, limit=limit + 1, start=start)
    return results[:limit], encode_position("search", start + limit) if len(results) > limit else None


def search(
    project: Project, index: ContentIndex | None, q: str, *, kind: str | None = None, limit: int, start: int = 0
) -> list[SearchResult]:
    """Return `limit` files of a branch for a query, best first; `kind` restricts them to a type. Skip `start` files.

    If more than `RANKED` texts match, only the best of these are compared. If these do not fill the page, because few
    of them are on this branch or of that type, a second statement compares all files.
    """
    question = parse(q)
    types = [*question.types, kind] if kind else list(question.types)
    if index is None or index.generation == 0 or not (question.terms or types):
        return []
    worded = [term for term in question.terms if term.tokens]
    texts = _best_texts(project.id, worded)
    rows = _files(project.id, index, question, types, texts)
    if len(rows) < start + limit and len(texts) > RANKED:
        rows = _files(project.id, index, question, types, texts, compare_all=True)
    best = sorted(((row.score + texts.get(row.sha, 0.0), row) for row in rows), key=_order)[start : start + limit]
    shown = _texts(project.id, [row.sha for _, row in best])
    hits = []
    for score, row in best:
        switch()  # Other requests run between the snippets of long texts.
        hits.append(_hit(score, row, shown.get(row.sha), question.terms))
    return hits


def _order(scored: tuple[float, Row]) -> tuple[float, int, str]:
    score, row = scored
    return -score, len(row.path), row.path


def _best_texts(project_id: str, worded: Sequence[Term]) -> dict[str, float]:
    """Return the rank of each text with all words by sha, for at most `RANKED` + 1 texts."""
    if not worded:
        return {}
    titled = [term for term in worded if term.where is TermField.ANYWHERE]
    rows = _ranked(project_id, worded)
    if 0 < len(rows) <= RANKED and db.engine.dialect.name == "sqlite" and sum(term.is_prefix for term in worded) == 1:
        rows = _ranked(project_id, worded, is_few=True)
    return {
        sha: float(rank) + (TITLE_WEIGHT if titled and _contains_all(title, titled) else 0.0)
        for sha, rank, title in rows
    }


def _ranked(
    project_id: str, worded: Sequence[Term], *, is_few: bool = False
) -> Sequence[sa.Row[str, float, str | None]]:
    ranking = search_words.ranking(db.engine.dialect.name, project_id, worded, is_few=is_few)
    # The limit is a literal, because a generic plan of PostgreSQL for an unknown limit reads all texts.
    return db.session.execute(ranking.add_columns(ContentText.title).limit(literal_number(RANKED + 1))).all()


def _contains_all(title: str | None, terms: Sequence[Term]) -> bool:
    """Return whether a title contains the words of every term."""
    tokens = words(title or "")
    return all(_is_in(term, tokens) for term in terms)


def _is_in(term: Term, tokens: Sequence[str]) -> bool:
    *before, last = term.tokens
    return any(
        list(tokens[start : start + len(before)]) == before
        and (token.startswith(last) if term.is_prefix else token == last)
        for start, token in enumerate(tokens[len(before) :])
    )


def _files(
    project_id: str,
    index: ContentIndex,
    question: ParsedQuery,
    types: Iterable[str],
    texts: dict[str, float],
    *,
    compare_all: bool = False,
) -> Sequence[Row]:
    """Return the files of the branch that match, by paths and by the matches of the full-text index."""
    file, terms = ContentFile, question.terms
    held = {term: _holds(term.part) for term in terms if term.where is not TermField.FIELD}
    conditions = [file.index_id == index.id, file.generation == index.generation]
    conditions += [sa.or_(*(_like(file.path, f"%{escaped(ending)}") for ending in endings_of(kind))) for kind in types]
    conditions += [held[term] for term in terms if not term.tokens]
    if any(term.tokens for term in terms):
        conditions.append(_is_met(project_id, [term for term in terms if term.tokens], held, texts, compare_all))
    score: sa.ColumnElement[float] = sum(
        (sa.case((holds, PATH_WEIGHT / len(terms)), else_=0.0) for holds in held.values()), start=sa.literal(0.0)
    )
    best = sorted(texts, key=texts.__getitem__, reverse=True)[:BEST]
    bonus = sa.case((file.sha.in_(best), 1.0), else_=0.0) if best else sa.literal(0.0)
    return db.session.execute(
        sa.select(file.path, file.sha, file.size, score.label("score"))
        .where(*conditions)
        .order_by((score + bonus).desc(), sa.func.length(file.path), file.path)
        .limit(literal_number(MAX_SCANNED))
    ).all()


def _is_met(
    project_id: str,
    worded: Sequence[Term],
    held: dict[Term, sa.ColumnElement[bool]],
    texts: dict[str, float],
    compare_all: bool,
) -> sa.ColumnElement[bool]:
    """Return the condition that a file matches every term with words, by its path or by its text."""
    paths = [held[term] for term in worded if term in held]
    if len(texts) > RANKED and not compare_all:
        by_path = sa.and_(*paths) if len(paths) == len(worded) else sa.false()
        return sa.or_(ContentFile.sha.in_(texts), by_path)
    if compare_all:
        return sa.and_(*(sa.or_(*_ways(project_id, term, held)) for term in worded))
    # A file whose text does not contain all words matches at least one term by path. Few files do.
    partly = (
        sa.and_(sa.or_(*paths), *(sa.or_(*_ways(project_id, term, held)) for term in worded)) if paths else sa.false()
    )
    return sa.or_(ContentFile.sha.in_(texts), partly)


def _ways(project_id: str, term: Term, held: dict[Term, sa.ColumnElement[bool]]) -> list[sa.ColumnElement[bool]]:
    """Return the alternatives by which a file matches a term. The lookup of texts, which runs once, is the last."""
    dialect = db.engine.dialect.name
    shas = search_words.matching(dialect, project_id, term)
    if dialect == "postgresql":
        # An array of unknown length keeps PostgreSQL from choosing a plan by the expected number of matches.
        shas = sa.select(sa.func.unnest(sa.func.array(shas.scalar_subquery())))
    return [*([held[term]] if term in held else []), ContentFile.sha.in_(shas)]


def _holds(part: str) -> sa.ColumnElement[bool]:
    """Return the condition that the path contains a folded part, regardless of case and accents."""
    pattern = f"%{escaped(part)}%"
    return sa.or_(_like(ContentFile.path, pattern), ContentFile.folded.like(pattern, escape=ESCAPE))


def _like(column: sa.SQLColumnExpression[str], pattern: str) -> sa.ColumnElement[bool]:
    """Return a case-insensitive LIKE. PostgreSQL compares case."""
    if db.engine.dialect.name == "postgresql":
        return sa.func.lower(column).like(pattern, escape=ESCAPE)
    return column.like(pattern, escape=ESCAPE)


def _texts(project_id: str, shas: Sequence[str]) -> dict[str, Row]:
    text = ContentText
    rows = db.session.execute(
        sa.select(text.sha, text.title, text.body).where(text.project_id == project_id, text.sha.in_(shas))
    )
    return {row.sha: row for row in rows}


def _hit(score: float, row: Row, text: Row | None, terms: Sequence[Term]) -> SearchResult:
    body = readable_text(row.path, text.body[:MAX_LOOKED_AT]) if text is not None and text.body else ""
    snippet = make_snippet(body, terms) if body else None
    return SearchResult(row.path, row.sha, row.size, text.title if text else None, round(float(score), 4), snippet)
