"""Which files of a branch lead to one of its files: pages that link to it, and wherever an image or a download is used."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby

import sqlalchemy as sa

from app.core.content.links import Link, keys_of, may_mean
from app.extensions import db
from app.models.content_search import ContentLink, ContentText
from app.models.project import Project
from app.models.project_content import ContentFile, ContentIndex
from app.resources.project_content import reading

MAX_SOURCES = 1_000


@dataclass(frozen=True)
class Backlink:
    """A file, and its links to the one asked for as they are written."""

    path: str
    title: str | None
    links: list[Link] = field(default_factory=list)


def backlinks(project: Project, index: ContentIndex | None, path: str) -> list[Backlink]:
    """The files that lead to a file, by path; the first thousand. Raises NotFound."""
    target = reading.file(index, path)
    found = list(_candidates(project.id, target))
    sources = groupby((row for row in found if may_mean(row[0], row[2], path)), key=lambda row: row[:2])
    told = [Backlink(source, title, [link for *_, link in rows]) for (source, title), rows in sources if source != path]
    return told[:MAX_SOURCES]


def _candidates(project_id: str, target: ContentFile) -> Iterator[tuple[str, str | None, Link]]:
    """Every link of the branch whose end looks like one to that file."""
    file, link, text = ContentFile, ContentLink, ContentText
    rows = db.session.execute(
        sa.select(file.path, text.title, link.url, link.kind)
        .join(link, sa.and_(link.project_id == project_id, link.sha == file.sha))
        .join(text, sa.and_(text.project_id == project_id, text.sha == file.sha))
        .where(file.index_id == target.index_id, file.generation == target.generation)
        .where(link.key.in_(keys_of(target.path)))
        .order_by(file.path, link.number)
    )
    return ((path, title, Link(url, kind)) for path, title, url, kind in rows)
