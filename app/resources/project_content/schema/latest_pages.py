"""The pages of a branch that were edited last: from the project log, and from Git's history of the other files."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from app.content.field_values import value_of
from app.content.schema.collection_groups import group_of
from app.content.schema.columns import columns_of
from app.core import clock
from app.extensions import db
from app.models.content_search import ContentText
from app.models.project import Project
from app.models.project_content import ContentFile, ContentIndex
from app.models.project_log import ProjectLogEntry
from app.models.user import User
from app.resources.project_content.images import EntryImage, entry_images, site_roots
from app.resources.project_content.schema.site_content import SiteContent
from app.resources.project_content.tree.folder_listing import existing_files, titles_of

LOG_ENTRIES, COMMITTED, MAX_FOLDERS = 300, 100, 50


@dataclass(frozen=True)
class LastEdit:
    """The time of an edit, the name of its author, and the key of their picture."""

    at: str
    person: str | None
    picture: str | None = None


@dataclass(frozen=True)
class LatestPage:
    """A page of a collection with its last edit and one of its images. `title` is empty if it has none."""

    path: str
    title: str
    list_label: str
    edit: LastEdit
    image: EntryImage | None


def latest_pages(project: Project, index: ContentIndex | None, content: SiteContent, *, limit: int) -> list[LatestPage]:
    """Return the pages of collections that were edited last, the newest first.

    The history of Git is read from the index, and only while the log names fewer pages.
    """
    if index is None:
        return []
    edits = _logged(project.id, index, content, limit)
    if len(edits) < limit:
        edits = _committed(index, content) | edits
    newest = sorted(edits, key=lambda path: edits[path].at, reverse=True)[:limit]
    titles, images = titles_of(project, index, newest), _images(project, index, content, newest)
    for path in newest:
        described = content.described(path)
        if not titles.get(path) and described is not None:
            titles[path] = described[1].label
    return [
        LatestPage(path, titles.get(path) or "", _label(content, path) or "", edits[path], images.get(path))
        for path in newest
    ]


def _label(content: SiteContent, path: str) -> str | None:
    """Return the label of the collection of a page, or None for a file that is no page."""
    described, member = content.described(path), group_of(content.groups, path)
    if described is not None:
        return (described[0] or described[1]).label
    return member[0].label if member is not None else None


def _logged(project_id: str, index: ContentIndex, content: SiteContent, limit: int) -> dict[str, LastEdit]:
    """Return the existing pages of the newest entries of the log."""
    entry, edits = ProjectLogEntry, dict[str, LastEdit]()
    statement = sa.select(entry.file, entry.created_at, entry.user_name, User.image)
    statement = statement.outerjoin(User, User.id == entry.user_id).where(entry.project_id == project_id)
    for row in db.session.execute(statement.order_by(entry.id.desc()).limit(LOG_ENTRIES)):
        edits.setdefault(row.file, LastEdit(clock.iso(row.created_at), row.user_name, row.image))
    present, pages = existing_files(index, edits), dict[str, LastEdit]()
    for path, edit in edits.items():
        if path in present and len(pages) < limit and _label(content, path) is not None:
            pages[path] = edit
    return pages


def _committed(index: ContentIndex, content: SiteContent) -> dict[str, LastEdit]:
    """Return the pages whose last commits are the newest ones. Every file of the collections is read."""
    file = ContentFile
    date = file.last_commit["date"].as_string()
    folders = sorted({language.paths.folder for group in content.groups for language in group.languages})
    # "0" follows "/" in ASCII, so this range contains all paths below the folder.
    below = [sa.and_(file.path >= f"{name}/", file.path < f"{name}0") for name in folders[:MAX_FOLDERS] if name]
    statement = (
        sa.select(file.path, file.last_commit)
        .where(file.index_id == index.id, file.generation == index.generation, file.title_key.is_not(None))
        .where(date.is_not(None), *([sa.or_(*below)] if below and "" not in folders else []))
        .order_by(date.desc(), file.path)
    )
    rows = db.session.execute(statement.limit(COMMITTED))
    return {
        path: LastEdit(commit["date"], commit.get("author"))
        for path, commit in rows
        if _label(content, path) is not None
    }


def _images(
    project: Project, index: ContentIndex, content: SiteContent, paths: Collection[str]
) -> Mapping[str, EntryImage]:
    """Return an image of each of some pages that have one: that of the field of its collection, or of its folder."""
    site, images = site_roots(project, index), dict[str, EntryImage]()
    fields, members = _front_matter(project, index, paths), {path: group_of(content.groups, path) for path in paths}
    languages = {id(member[1]): member[1] for member in members.values() if member is not None}
    for key, language in languages.items():
        column = columns_of(language, is_declared=content.is_declared).image
        pages = [path for path, member in members.items() if member is not None and id(member[1]) == key]
        sources = {path: value_of(fields.get(path, {}), column) if column else None for path in pages}
        images |= entry_images(index, site, language.collection, sources)
    return images


def _front_matter(project: Project, index: ContentIndex, paths: Collection[str]) -> Mapping[str, Mapping[str, object]]:
    file, text = ContentFile, ContentText
    statement = sa.select(file.path, text.front_matter).join(text, text.sha == file.sha)
    here = (file.index_id == index.id, file.generation == index.generation, file.path.in_(paths))
    rows = db.session.execute(statement.where(text.project_id == project.id, *here))
    return {path: values or {} for path, values in rows}
