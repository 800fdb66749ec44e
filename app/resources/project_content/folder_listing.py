"""The entries of one folder of a branch: subfolders with their number of files, and files with title, date and draft state."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from app.core import clock
from app.database import bulk
from app.extensions import db
from app.models.content_search import ContentText
from app.models.project import Project
from app.models.project_content import ContentFile, ContentIndex
from app.models.project_log import ProjectLogEntry

BLOBS_PER_STATEMENT = 500
LOG_ENTRIES = 2_000


@dataclass(frozen=True)
class ListedFile:
    """A file of a folder. Title and date are None if the file has none, or its text is not indexed yet."""

    path: str
    size: int | None
    sha: str
    title: str | None
    date: str | None
    is_draft: bool
    changed_by: str | None
    changed_at: str | None

    @property
    def name(self) -> str:
        """The last segment of the path."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class ListedFolder:
    """A folder with the number of files below it."""

    path: str
    files: int

    @property
    def name(self) -> str:
        """The last segment of the path."""
        return self.path.rpartition("/")[2]


def list_folder(
    project: Project,
    index: ContentIndex | None,
    folder: str,
    *,
    is_recursive: bool = False,
) -> tuple[list[ListedFolder], list[ListedFile]]:
    """Return the subfolders and files of a folder by path; all files below it if `is_recursive`."""
    if index is None:
        return [], []
    file, prefix = ContentFile, f"{folder}/" if folder else ""
    conditions = [file.index_id == index.id, file.generation == index.generation, file.type == "blob"]
    if folder:
        # "0" follows "/" in ASCII, so this range contains all paths below the folder.
        conditions += [file.path > prefix, file.path < f"{folder}0"]
    rows = db.session.execute(
        sa.select(file.path, file.size, file.sha, file.last_commit).where(*conditions).order_by(file.path)
    ).all()
    folders = Counter(
        prefix + row.path[len(prefix) :].partition("/")[0] for row in rows if "/" in row.path[len(prefix) :]
    )
    direct = [row for row in rows if is_recursive or "/" not in row.path[len(prefix) :]]
    texts = _texts(project.id, sorted({row.sha for row in direct}))
    changes = _logged_changes(project.id) if any(row.last_commit is None for row in direct) else {}
    listed = [_file(row, texts.get(row.sha), changes.get(row.path)) for row in direct]
    return [] if is_recursive else [ListedFolder(path, count) for path, count in sorted(folders.items())], listed


def titles_of(project: Project, index: ContentIndex | None, paths: Collection[str]) -> dict[str, str]:
    """Return the titles of those of some paths that have one in the index."""
    if index is None or not paths:
        return {}
    file, text = ContentFile, ContentText
    statement = sa.select(file.path, text.title).join(text, text.sha == file.sha)
    statement = statement.where(text.project_id == project.id, text.title.is_not(None), text.title != "")
    here = (file.index_id == index.id, file.generation == index.generation, file.path.in_(set(paths)))
    return {row.path: row.title for row in db.session.execute(statement.where(*here))}


def existing_files(index: ContentIndex | None, paths: Collection[str]) -> set[str]:
    """Return those of some paths that are files of the branch."""
    if index is None or not paths:
        return set()
    file = ContentFile
    statement = sa.select(file.path).where(
        file.index_id == index.id, file.generation == index.generation, file.type == "blob", file.path.in_(paths)
    )
    return set(db.session.scalars(statement))


def _texts(project_id: str, shas: Iterable[str]) -> dict[str, Any]:
    """Return title and front matter of the indexed texts by blob."""
    text, rows = ContentText, dict[str, Any]()
    for part in bulk.batches(shas, BLOBS_PER_STATEMENT):
        statement = sa.select(text.sha, text.title, text.front_matter)
        statement = statement.where(text.project_id == project_id, text.sha.in_(part))
        rows |= {row.sha: row for row in db.session.execute(statement)}
    return rows


def _logged_changes(project_id: str) -> dict[str, dict[str, str | None]]:
    """Return author and time of the last change of each file in the newest entries of the project log.

    The index does not know the commit of a file that was just saved.
    """
    entry = ProjectLogEntry
    statement = sa.select(entry.file, entry.user_name, entry.created_at).where(entry.project_id == project_id)
    rows = db.session.execute(statement.order_by(entry.id.desc()).limit(LOG_ENTRIES)).all()
    return {row.file: {"author": row.user_name, "date": clock.iso(row.created_at)} for row in reversed(rows)}


def _file(row: Any, text: Any, logged: dict[str, str | None] | None) -> ListedFile:
    values, commit = (text.front_matter if text is not None else None) or {}, row.last_commit or logged or {}
    date = values.get("date")
    return ListedFile(
        row.path,
        row.size,
        row.sha,
        text.title if text is not None else None,
        str(date) if isinstance(date, str | int) else None,
        values.get("draft") is True,
        commit.get("author"),
        commit.get("date"),
    )
