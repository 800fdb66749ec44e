"""The images of a branch by path, and the number of pages that use each. Both are read from the index without texts."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from app.content.links import Link, can_resolve_to, link_keys
from app.extensions import db
from app.models.content_search import ContentLink
from app.models.project import Project
from app.models.project_content import IS_IMAGE, ContentFile, ContentIndex
from app.resources.project_content.entries.entry_conditions import literal_number
from app.resources.project_content.search.path_conditions import path_contains

MAX_LINKS = 1_000


@dataclass(frozen=True)
class ListedImage:
    """An image of the branch."""

    path: str
    size: int | None

    @property
    def name(self) -> str:
        """The last segment of the path."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class ImagePage:
    """A page of images. `total` is the number of images of all pages."""

    images: Sequence[ListedImage]
    total: int


def list_images(index: ContentIndex | None, term: str = "", *, offset: int = 0, limit: int) -> ImagePage:
    """Return a page of the images whose path contains a term in any case, by path."""
    if index is None:
        return ImagePage([], 0)
    file = ContentFile
    conditions: list[Any] = [
        file.index_id == index.id,
        file.generation == index.generation,
        file.type == sa.literal_column("'blob'"),
        # SQLite uses the index for the exact text of its condition.
        sa.text(IS_IMAGE),
        *([path_contains(term)] if term else []),
    ]
    total = db.session.scalar(sa.select(sa.func.count()).select_from(file).where(*conditions)) or 0
    statement = sa.select(file.path, file.size).where(*conditions).order_by(file.path)
    rows = db.session.execute(statement.limit(literal_number(limit)).offset(offset)) if total > offset else ()
    return ImagePage([ListedImage(path, size) for path, size in rows], total)


def count_pages(project: Project, index: ContentIndex | None, paths: Collection[str]) -> Mapping[str, int]:
    """Return the number of files that link to each of some files of the branch, without those that none links to.

    At most `MAX_LINKS` links with each name are compared, so that an image of all pages does not make a page slow.
    """
    targets = defaultdict[str, list[str]](list)
    for path in paths:
        for key in link_keys(path):
            targets[key].append(path)
    if index is None or not targets:
        return {}
    file, link = ContentFile, ContentLink
    here = (file.index_id == index.id, file.generation == index.generation, file.sha == link.sha)
    linking = sa.select(file.path, link.key, link.url, link.kind).join(link, sa.and_(*here))
    parts = (
        linking.where(link.project_id == project.id, link.key == key).limit(literal_number(MAX_LINKS)).subquery()
        for key in sorted(targets)
    )
    rows = db.session.execute(sa.union_all(*map(sa.select, parts)))
    sources = defaultdict[str, set[str]](set)
    for source, key, url, kind in rows:
        for path in targets[key]:
            if source != path and can_resolve_to(source, Link(url, kind), path):
                sources[path].add(source)
    return {path: len(pages) for path, pages in sources.items()}
