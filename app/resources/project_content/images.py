"""The images of a branch by path, and the number of pages that use each. Both are read from the index without texts."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from app.content.filetypes import endings_of
from app.content.links import Link, can_resolve_to, link_keys
from app.extensions import db
from app.models.content_search import ContentLink
from app.models.project import Project
from app.models.project_content import ContentFile, ContentIndex

IMAGES = "image"


@dataclass(frozen=True)
class ListedImage:
    """An image of the branch."""

    path: str
    size: int | None

    @property
    def name(self) -> str:
        """The last segment of the path."""
        return self.path.rpartition("/")[2]


def list_images(index: ContentIndex | None, term: str = "") -> list[ListedImage]:
    """Return the images whose path contains a term in any case, by path."""
    if index is None:
        return []
    file, folded = ContentFile, term.casefold()
    statement = sa.select(file.path, file.size).where(
        file.index_id == index.id,
        file.generation == index.generation,
        file.type == "blob",
        sa.or_(*(file.path.ilike(f"%{ending}") for ending in endings_of(IMAGES))),
    )
    rows = db.session.execute(statement.order_by(file.path))
    return [ListedImage(path, size) for path, size in rows if folded in path.casefold()]


def count_pages(project: Project, index: ContentIndex | None, paths: Collection[str]) -> Mapping[str, int]:
    """Return the number of files that link to each of some files of the branch, without those that none links to."""
    targets = defaultdict[str, list[str]](list)
    for path in paths:
        for key in link_keys(path):
            targets[key].append(path)
    if index is None or not targets:
        return {}
    file, link = ContentFile, ContentLink
    rows = db.session.execute(
        sa.select(file.path, link.key, link.url, link.kind)
        .join(link, sa.and_(link.project_id == project.id, link.sha == file.sha))
        .where(file.index_id == index.id, file.generation == index.generation, link.key.in_(targets))
    )
    sources = defaultdict[str, set[str]](set)
    for source, key, url, kind in rows:
        for path in targets[key]:
            if source != path and can_resolve_to(source, Link(url, kind), path):
                sources[path].add(source)
    return {path: len(pages) for path, pages in sources.items()}
