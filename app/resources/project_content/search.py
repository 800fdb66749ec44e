"""Search in a branch's files: by path, by the words of their text, by type and by front matter fields; ranked.

A term is met by a file whose path holds it, or whose text has it as a word. Paths are read from the index itself, so they
are found as soon as it is ready; texts follow (`describing`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from app.core.content.filetypes import endings_of
from app.core.content.search_query import Question, Term, Where, parse
from app.core.content.snippets import Snippet, make_snippet
from app.core.content.words import words
from app.extensions import db
from app.models.content_search import ContentText
from app.models.project import Project
from app.models.project_content import ContentFile, ContentIndex
from app.resources.project_content import search_words

PATH_WEIGHT, TITLE_WEIGHT = 0.5, 0.8
RANKED, BEST, LOOKED_AT = 3_000, 300, 600
"""How many texts are told apart by their words, how many of these go before others, and how many files are compared."""

_ESCAPE = "\\"


@dataclass(frozen=True)
class Hit:
    """A file that meets a question; `snippet` is None as long as its text has not been read, and for files without any."""

    path: str
    sha: str
    size: int | None
    title: str | None
    score: float
    snippet: Snippet | None


def search(project: Project, index: ContentIndex | None, q: str, *, kind: str | None = None, limit: int) -> list[Hit]:
    """The best `limit` files of a branch for what somebody typed; `kind` narrows them to a type.

    Every file that fits can be found. Where more than `RANKED` texts fit, the best of so many are shown; unless they do not
    fill the page, because few of them are on this branch or of that type, and then all are looked at.
    """
    question = parse(q)
    types = [*question.types, kind] if kind else list(question.types)
    if index is None or index.generation == 0 or not (question.terms or types):
        return []
    worded = [term for term in question.terms if term.words]
    texts = _best_texts(project.id, worded)
    found = _files(project.id, index, question, types, texts)
    if len(found) < limit and len(texts) > RANKED:
        found = _files(project.id, index, question, types, texts, look_at_all=True)
    best = sorted(((row.score + texts.get(row.sha, 0.0), row) for row in found), key=_order)[:limit]
    shown = _texts(project.id, [row.sha for _, row in best])
    return [_hit(score, row, shown.get(row.sha), question.terms) for score, row in best]


def _order(scored: tuple[float, Any]) -> tuple[float, int, str]:
    score, row = scored
    return -score, len(row.path), row.path


def _best_texts(project_id: str, worded: Sequence[Term]) -> dict[str, float]:
    """Texts that hold all of the words, by sha, with how well they fit: all of them, or `RANKED` + 1 where there are more."""
    if not worded:
        return {}
    ranking = search_words.ranking(db.engine.dialect.name, project_id, worded).add_columns(ContentText.title)
    titled = [term for term in worded if term.where is Where.ANYWHERE]
    rows = db.session.execute(ranking.limit(RANKED + 1))
    return {
        sha: float(rank) + (TITLE_WEIGHT if titled and _holds_all(title, titled) else 0.0) for sha, rank, title in rows
    }


def _holds_all(title: str | None, terms: Sequence[Term]) -> bool:
    """Whether a title holds the words of every term."""
    there = words(title or "")
    return all(_is_in(term, there) for term in terms)


def _is_in(term: Term, there: Sequence[str]) -> bool:
    *before, last = term.words
    return any(
        list(there[place : place + len(before)]) == before and (word.startswith(last) if term.begun else word == last)
        for place, word in enumerate(there[len(before) :])
    )


def _files(
    project_id: str,
    index: ContentIndex,
    question: Question,
    types: Iterable[str],
    texts: dict[str, float],
    *,
    look_at_all: bool = False,
) -> Sequence[Any]:
    """One look through the branch's paths, held against what the full-text index found."""
    file, terms = ContentFile, question.terms
    held = {term: _holds(term.part) for term in terms if term.where is not Where.FIELD}
    conditions = [file.index_id == index.id, file.generation == index.generation]
    conditions += [sa.or_(*(_ends_with(ending) for ending in endings_of(kind))) for kind in types]
    conditions += [held[term] for term in terms if not term.words]
    if any(term.words for term in terms):
        conditions.append(_is_met(project_id, [term for term in terms if term.words], held, texts, look_at_all))
    score: sa.ColumnElement[float] = sum(
        (sa.case((holds, PATH_WEIGHT / len(terms)), else_=0.0) for holds in held.values()), start=sa.literal(0.0)
    )
    best = sorted(texts, key=texts.__getitem__, reverse=True)[:BEST]
    bonus = sa.case((file.sha.in_(best), 1.0), else_=0.0) if best else sa.literal(0.0)
    return db.session.execute(
        sa.select(file.path, file.sha, file.size, score.label("score"))
        .where(*conditions)
        .order_by((score + bonus).desc(), sa.func.length(file.path), file.path)
        .limit(LOOKED_AT)
    ).all()


def _is_met(
    project_id: str,
    worded: Sequence[Term],
    held: dict[Term, sa.ColumnElement[bool]],
    texts: dict[str, float],
    look_at_all: bool,
) -> sa.ColumnElement[bool]:
    """The condition that a file meets every term that has words, each by its path or by its text."""
    paths = [held[term] for term in worded if term in held]
    if len(texts) > RANKED and not look_at_all:
        by_path = sa.and_(*paths) if len(paths) == len(worded) else sa.false()
        return sa.or_(ContentFile.sha.in_(texts), by_path)
    if look_at_all:
        return sa.and_(*(sa.or_(*_ways(project_id, term, held)) for term in worded))
    # Whoever is not among the texts that hold all words meets at least one term by path; few do, so few are looked up.
    partly = (
        sa.and_(sa.or_(*paths), *(sa.or_(*_ways(project_id, term, held)) for term in worded)) if paths else sa.false()
    )
    return sa.or_(ContentFile.sha.in_(texts), partly)


def _ways(project_id: str, term: Term, held: dict[Term, sa.ColumnElement[bool]]) -> list[sa.ColumnElement[bool]]:
    """How a file may meet a term; the lookup, made once and not for every path, comes last."""
    dialect = db.engine.dialect.name
    found = search_words.matching(dialect, project_id, term)
    if dialect == "postgresql":
        # As an array whose length is not known beforehand; otherwise the plan turns on how many are expected.
        found = sa.select(sa.func.unnest(sa.func.array(found.scalar_subquery())))
    return [*([held[term]] if term in held else []), ContentFile.sha.in_(found)]


def _holds(part: str) -> sa.ColumnElement[bool]:
    """Whether the path holds a part, whatever case and accents; `part` is folded."""
    pattern = f"%{_escaped(part)}%"
    return sa.or_(_like(ContentFile.path, pattern), ContentFile.folded.like(pattern, escape=_ESCAPE))


def _ends_with(ending: str) -> sa.ColumnElement[bool]:
    return _like(ContentFile.path, f"%{_escaped(ending)}")


def _like(column: Any, pattern: str) -> sa.ColumnElement[bool]:
    """Case matters to LIKE on PostgreSQL only."""
    if db.engine.dialect.name == "postgresql":
        return sa.func.lower(column).like(pattern, escape=_ESCAPE)
    found: sa.ColumnElement[bool] = column.like(pattern, escape=_ESCAPE)
    return found


def _escaped(part: str) -> str:
    for character in (_ESCAPE, "%", "_"):
        part = part.replace(character, _ESCAPE + character)
    return part


def _texts(project_id: str, shas: Sequence[str]) -> dict[str, Any]:
    text = ContentText
    rows = db.session.execute(
        sa.select(text.sha, text.title, text.body).where(text.project_id == project_id, text.sha.in_(shas))
    )
    return {row.sha: row for row in rows}


def _hit(score: float, row: Any, text: Any, terms: Sequence[Term]) -> Hit:
    snippet = make_snippet(text.body, terms) if text is not None and text.body else None
    return Hit(row.path, row.sha, row.size, text.title if text else None, round(float(score), 4), snippet)
