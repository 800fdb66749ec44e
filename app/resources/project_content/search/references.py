"""References to a file: the pages of its branch that link to it, and the number of pages that use each image."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby, islice
from typing import Any

import sqlalchemy as sa

from app.content.entry_files import folders_above, is_section
from app.content.image_types import is_image
from app.content.links import Link, can_resolve_to, link_keys
from app.content.schema.model import ContentSchema
from app.extensions import db
from app.models.content_search import ContentLink, ContentText
from app.models.project import Project
from app.models.project_content import IS_IMAGE, ContentFile, ContentIndex
from app.resources.project_content import queries
from app.resources.project_content.conditions import literal_number, name_of, path_contains
from app.resources.project_content.images import site_roots
from app.resources.project_content.tree.folder_listing import folder_counts, logged_times, pages_with, titles_of

MAX_LINKS = 1_000
MAX_SOURCES, PAGE = 1_000, 2_000


class ImageOrder(StrEnum):
    """The order of images. The last changes and the largest files are first."""

    PATH = "path"
    NAME = "name"
    CHANGED = "-changed"
    SIZE = "-size"


@dataclass(frozen=True)
class ListedImage:
    """An image of the branch."""

    path: str
    size: int | None
    sha: str

    @property
    def name(self) -> str:
        """The last segment of the path."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class ImagePage:
    """A page of images. `total` is the number of images of all pages."""

    images: Sequence[ListedImage]
    total: int


def list_images(
    index: ContentIndex | None,
    term: str = "",
    *,
    folder: str = "",
    order: ImageOrder = ImageOrder.PATH,
    offset: int = 0,
    limit: int,
) -> ImagePage:
    """Return a page of the images in or below a folder whose path contains a term in any case."""
    if index is None:
        return ImagePage([], 0)
    file = ContentFile
    conditions: list[sa.ColumnElement[bool] | sa.TextClause] = [
        file.index_id == index.id,
        file.generation == index.generation,
        file.type == sa.literal_column("'blob'"),
        # SQLite uses the index for the exact text of its condition.
        sa.text(IS_IMAGE),
        *([path_contains(term)] if term else []),
        # "0" follows "/" in ASCII, so this range contains all paths below the folder.
        *([file.path >= f"{folder}/", file.path < f"{folder}0"] if folder else []),
    ]
    total = db.session.scalar(sa.select(sa.func.count()).select_from(file).where(*conditions)) or 0
    statement = (
        sa.select(file.path, file.size, file.sha).where(*conditions).order_by(*_sorting(index, order), file.path)
    )
    rows = db.session.execute(statement.limit(literal_number(limit)).offset(offset)) if total > offset else ()
    return ImagePage([ListedImage(path, size, sha) for path, size, sha in rows], total)


def _sorting(index: ContentIndex, order: ImageOrder) -> Sequence[sa.ColumnElement[Any]]:
    """Return the values by which images are sorted before their paths. The log has the changes of the newest saves."""
    file = ContentFile
    if order is ImageOrder.NAME:
        return [sa.func.lower(name_of(file.path))]
    if order is ImageOrder.SIZE:
        return [sa.func.coalesce(file.size, 0).desc()]
    if order is ImageOrder.PATH:
        return []
    times = {path: time for path, time in logged_times(index.project_id).items() if is_image(path)}
    logged = [sa.case(times, value=file.path)] if times else []
    return [sa.func.coalesce(file.last_commit["date"].as_string(), *logged, "").desc()]


def image_folders(project: Project, index: ContentIndex | None) -> Mapping[str, int]:
    """Return the folders of images with the number of images in or below each.

    The folder of a single page is not listed. Its images count for the folder above.
    """
    if index is None:
        return {}
    counts = {f"{folder}image": images for folder, images in folder_counts(index, only_images=True)}
    pages = pages_with(index, counts, project.generator)
    # The folder of a section contains other pages, and is listed itself.
    own = {page: page if is_section(page) else page.rpartition("/")[0] for page in pages.values()}
    shown = {next(folders_above(own.get(pages.get(path, ""), path)), "") for path in counts}
    totals = Counter[str]()
    for path, images in counts.items():
        totals.update({folder: images for folder in folders_above(path) if folder in shown})
    return totals


def count_pages(
    project: Project,
    index: ContentIndex | None,
    paths: Collection[str],
    schema: ContentSchema | None = None,
    *,
    max_links: int = MAX_LINKS,
) -> Mapping[str, int | None]:
    """Return the number of files that use each of some files of the branch, without those that none uses.

    The number is None if a file may use it whose links are not read or compared.

    A file links to another one, or has it in its own folder: generators also use such files without a link.
    At most `max_links` links with each name are compared, so that an image of all pages does not make a page slow.
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
        linking.where(link.project_id == project.id, link.key == key).limit(literal_number(max_links)).subquery()
        for key in sorted(targets)
    )
    rows = db.session.execute(sa.union_all(*map(sa.select, parts)))
    sources, compared = defaultdict[str, set[str]](set), Counter[str]()
    site = site_roots(project, index, schema)
    for source, key, url, kind in rows:
        compared[key] += 1
        for path in targets[key]:
            if source != path and can_resolve_to(source, Link(url, kind), path, site):
                sources[path].add(source)
    for path, page in pages_with(index, paths, project.generator).items():
        sources[path].add(page)
    cut = {path for key, links in compared.items() if links == max_links for path in targets[key]}
    unknown = dict.fromkeys(cut if index.described_sha == index.commit_sha else paths)
    return unknown | {path: len(pages) for path, pages in sources.items()}


@dataclass(frozen=True)
class Backlink:
    """A file with its links to the target as they are written."""

    path: str
    title: str | None
    links: list[Link] = field(default_factory=list)


def backlinks(
    project: Project, index: ContentIndex | None, path: str, schema: ContentSchema | None = None
) -> list[Backlink]:
    """Return the first thousand files that link to a file, by path. Raises NotFound."""
    target, site = queries.file(index, path), site_roots(project, index, schema)
    rows = (row for row in _candidates(project.id, target) if can_resolve_to(row[0], row[2], path, site))
    sources = groupby(rows, key=lambda row: row[:2])
    result = (
        Backlink(source, title, [link for *_, link in rows]) for (source, title), rows in sources if source != path
    )
    return list(islice(result, MAX_SOURCES))


def uses(project: Project, index: ContentIndex | None, path: str, schema: ContentSchema) -> list[Backlink]:
    """Return the files that link to a file, and the page whose folder contains it, by path. Raises NotFound."""
    listed = backlinks(project, index, path, schema)
    page = pages_with(index, [path], project.generator).get(path)
    if page is None or any(link.path == page for link in listed):
        return listed
    return sorted([*listed, Backlink(page, titles_of(project, index, [page]).get(page))], key=lambda link: link.path)


def texts_of(project: Project, index: ContentIndex | None, paths: Sequence[str]) -> list[str]:
    """Return the starts of the texts of those of some files that are indexed, in the order of the paths."""
    if index is None or not paths:
        return []
    file, text = ContentFile, ContentText
    statement = sa.select(file.path, text.body).join(text, text.sha == file.sha).where(text.project_id == project.id)
    here = (file.index_id == index.id, file.generation == index.generation, file.path.in_(paths))
    bodies = {row.path: row.body for row in db.session.execute(statement.where(*here))}
    return [bodies[path] for path in paths if path in bodies]


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
