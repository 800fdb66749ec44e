"""Backlinks of a file: the pages of its branch that link to it or use it as an image or a download."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby, islice

import sqlalchemy as sa

from app.content.links import Link, can_resolve_to, link_keys
from app.extensions import db
from app.models.content_search import ContentLink, ContentText
from app.models.project import Project
from app.models.project_content import ContentFile, ContentIndex
from app.resources.project_content import queries
from app.resources.project_content.entries.entry_conditions import literal_number

MAX_SOURCES, PAGE = 1_000, 2_000


@dataclass(frozen=True)
class Backlink:
    """A file with its links to the target as they are written."""

    path: str
    title: str | None
    links: list[Link] = field(default_factory=list)


def backlinks(project: Project, index: ContentIndex | None, path: str) -> list[Backlink]:
    """Return the first thousand files that link to a file, by path. Raises NotFound."""
    target = queries.file(index, path)
    rows = (row for row in _candidates(project.id, target) if can_resolve_to(row[0], row[2], path))
    sources = groupby(rows, key=lambda row: row[:2])
    result = (
        Backlink(source, title, [link for *_, link in rows]) for (source, title), rows in sources if source != path
    )
    return list(islice(result, MAX_SOURCES))


def _candidates(project_id: str, target: ContentFile) -> Iterator[tuple[str, str | None, Link]]:
    """Yield the links of the branch whose last segment matches the file, in pages, by source and number."""
    file, link, text = ContentFile, ContentLink, ContentText
    title = sa.select(text.title).where(text.project_id == project_id, text.sha == file.sha).scalar_subquery()
    position = sa.tuple_(file.path, link.number)
    statement = (
        sa.select(file.path, title.label("title"), link.url, link.kind, link.number)
        .join(link, sa.and_(link.project_id == project_id, link.sha == file.sha))
        .where(file.index_id == target.index_id, file.generation == target.generation)
        .where(link.key.in_(link_keys(target.path)))
        .order_by(file.path, link.number)
        .limit(literal_number(PAGE))
    )
    rows = db.session.execute(statement).all()
    while rows:
        yield from ((row.path, row.title, Link(row.url, row.kind)) for row in rows)
        after = (rows[-1].path, rows[-1].number)
        rows = db.session.execute(statement.where(position > after)).all() if len(rows) == PAGE else []
