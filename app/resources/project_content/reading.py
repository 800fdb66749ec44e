"""Reads of indexed content: the tree, a part of it, one file. Answers from rows and stored trees only."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from app.core.cursors import decode_cursor, encode_cursor
from app.core.errors import NotFound
from app.drivers.storage.near import NearStore
from app.extensions import db
from app.models.project import Project
from app.models.project_content import ContentFile, ContentIndex, IndexStatus
from app.resources.project_content import packing, snapshot


@dataclass(frozen=True)
class Tree:
    """A whole tree ready to be sent, tagged with its commit: the beginning of its JSON, and the packed rest."""

    commit_sha: str | None
    start: bytes
    files: bytes

    def gzipped(self) -> bytes:
        """The answer, compressed."""
        return packing.gzipped(self.start, self.files)

    def plain(self) -> bytes:
        """The answer."""
        return packing.plain(self.start, self.files)


@dataclass(frozen=True)
class Part:
    """Some files of a tree, with what stands around them."""

    result: dict[str, Any]
    meta: dict[str, Any] | None


def status_of(index: ContentIndex | None) -> str:
    """The state as answers tell it."""
    return str(index.status) if index is not None else IndexStatus.QUEUED


def whole(project: Project, index: ContentIndex | None, branch: str, *, trees: NearStore) -> Tree:
    """The whole tree: the packed files, stored or made from the rows, behind the index's present state."""
    files = snapshot.read(index, trees) if index is not None and index.commit_sha else packing.pack(()).data
    return Tree(index.commit_sha if index else None, snapshot.head(index, project.id, branch, status_of(index)), files)


def part(
    project: Project,
    index: ContentIndex | None,
    branch: str,
    *,
    folder: str | None,
    limit: int | None,
    cursor: str | None,
) -> Part:
    """The files below a folder, whole or a page at a time."""
    after = decode_cursor(cursor, "path") if cursor else ""
    found = _rows(index, folder, after, limit) if index is not None else []
    more = limit is not None and len(found) > limit
    shown = found[:limit] if more else found
    total = _count(index, folder) if index is not None else 0
    facts = snapshot.facts(index, project.id, branch, status_of(index)) | {"total": total}
    meta = None
    if limit is not None:
        meta = {"next_cursor": encode_cursor("path", shown[-1].path) if more else None, "total": total}
    return Part(facts | {"files": [snapshot.entry(*row) for row in shown]}, meta)


def _count(index: ContentIndex, folder: str | None) -> int:
    if folder is None:
        return index.files
    count = sa.select(sa.func.count()).select_from(ContentFile)
    return db.session.scalar(count.where(*_below(index, folder), ContentFile.type == "blob")) or 0


def _below(index: ContentIndex, folder: str | None) -> list[sa.ColumnElement[bool]]:
    file = ContentFile
    here = [file.index_id == index.id, file.generation == index.generation]
    if folder is None:
        return here
    # "/" and "0" are neighbours in ASCII: this is the range of all paths that begin with the folder.
    return [*here, file.path > f"{folder}/", file.path < f"{folder}0"]


def _rows(index: ContentIndex, folder: str | None, after: str, limit: int | None) -> list[Any]:
    file = ContentFile
    query = (
        sa.select(file.path, file.type, file.mode, file.sha, file.size)
        .where(*_below(index, folder), file.path > after)
        .order_by(file.path)
    )
    return list(db.session.execute(query.limit(limit + 1) if limit is not None else query))


def file(index: ContentIndex | None, path: str) -> ContentFile:
    """One indexed file. Raises NotFound."""
    found = None
    if index is not None:
        found = db.session.get(ContentFile, (index.id, index.generation, path))
    if found is None:
        raise NotFound("There is no such file on this branch")
    return found
