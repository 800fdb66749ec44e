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
from app.extensions import db
from app.models.content_search import ContentText
from app.models.project import Project
from app.models.project_content import ContentFile, ContentIndex
from app.resources.project_content import search_words

PATH_WEIGHT, TITLE_WEIGHT = 0.5, 0.8
RANKED, LOOKED_AT = 300, 600
"""How many texts are told apart by their words, and how many files by all that counts."""

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
    """The best `limit` files of a branch for what somebody typed; `kind` narrows them to a type."""
    question = parse(q)
    types = [*question.types, kind] if kind else question.types
    if index is None or index.generation == 0 or not (question.terms or question.types):
        return []
    ranks = _ranks(project.id, question.terms)
    found = db.session.execute(_statement(project.id, index, question, types, bool(ranks)).limit(LOOKED_AT)).all()
    best = sorted(((row.score + ranks.get(row.sha, 0.0), row) for row in found), key=_order)[:limit]
    texts = _texts(project.id, [row.sha for _, row in best])
    return [_hit(score, row, texts.get(row.sha), question.terms) for score, row in best]


def _order(scored: tuple[float, Any]) -> tuple[float, int, str]:
    score, row = scored
    return -score, len(row.path), row.path


def _ranks(project_id: str, terms: Sequence[Term]) -> dict[str, float]:
    """How well the best texts fit the words, by sha."""
    worded = [term for term in terms if term.words]
    if not worded:
        return {}
    rows = db.session.execute(_best(project_id, worded))
    return {sha: float(rank) for sha, rank in rows}


def _best(project_id: str, worded: Sequence[Term]) -> sa.Select[*tuple[Any, ...]]:
    found = search_words.ranking(db.engine.dialect.name, project_id, worded)
    return found.order_by(sa.desc("rank"), ContentText.sha).limit(RANKED)


def _statement(
    project_id: str, index: ContentIndex, question: Question, types: Iterable[str], ranked: bool
) -> sa.Select[*tuple[Any, ...]]:
    """One look through the branch's paths, held against what the full-text index finds for each term."""
    file = ContentFile
    looked = _Looked(project_id)
    conditions = [file.index_id == index.id, file.generation == index.generation]
    conditions += [sa.or_(*(_ends_with(ending) for ending in endings_of(kind))) for kind in types]
    conditions += [looked.for_term(term, PATH_WEIGHT / len(question.terms)) for term in question.terms]
    looked.for_title(question.terms)
    score: sa.ColumnElement[float] = sum(looked.scores, start=sa.literal(0.0))
    best = looked.bonus(_best(project_id, [t for t in question.terms if t.words])) if ranked else sa.literal(0.0)
    return (
        sa.select(file.path, file.sha, file.size, score.label("score"))
        .where(*conditions)
        .order_by((score + best).desc(), sa.func.length(file.path), file.path)
    )


class _Looked:
    """What was looked up in the full-text index so far, and what it adds to a file's score."""

    def __init__(self, project_id: str) -> None:
        self._project_id, self._dialect = project_id, db.engine.dialect.name
        self.scores: list[sa.ColumnElement[float]] = []

    def for_term(self, term: Term, weight: float) -> sa.ColumnElement[bool]:
        """The condition that a file meets a term."""
        met: list[sa.ColumnElement[bool]] = []
        if term.where is not Where.FIELD:
            met.append(_holds(term.part))
            self.scores.append(sa.case((met[0], weight), else_=0.0))
        if term.words:
            met.append(self._is_among(search_words.matching(self._dialect, self._project_id, term)))
        return sa.or_(*met)

    def for_title(self, terms: Sequence[Term]) -> None:
        """Let texts count more whose title alone holds the words."""
        titled = [search_words.in_title(term) for term in terms if term.words and term.where is Where.ANYWHERE]
        if titled:
            titles = self._is_among(search_words.matching(self._dialect, self._project_id, *titled))
            self.scores.append(sa.case((titles, TITLE_WEIGHT), else_=0.0))

    def bonus(self, best: sa.Select[*tuple[Any, ...]]) -> sa.ColumnElement[float]:
        """What puts the texts that fit best before the others, until their ranks are added."""
        shas = sa.select(best.subquery().c.sha)
        return sa.case((self._is_among(shas), 1.0), else_=0.0)

    def _is_among(self, found: sa.Select[*tuple[Any, ...]]) -> sa.ColumnElement[bool]:
        """Whether a file's text was found: looked up in one table of hashes, which is made once and not for every path."""
        if self._dialect == "postgresql":
            # As an array whose length is not known beforehand; otherwise the plan turns on how many are expected.
            found = sa.select(sa.func.unnest(sa.func.array(found.scalar_subquery())))
        return ContentFile.sha.in_(found)


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
