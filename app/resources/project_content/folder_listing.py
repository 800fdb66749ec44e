"""The entries of one folder of a branch: subfolders with their number of files, and files with title, date and draft state."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from app.database import bulk
from app.extensions import db
from app.models.content_search import ContentText
from app.models.project import Project
from app.models.project_content import ContentFile, ContentIndex

BLOBS_PER_STATEMENT = 500


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
    is_listed: Callable[[str], bool] = lambda _path: True,
) -> tuple[list[ListedFolder], list[ListedFile]]:
    """Return the subfolders and files of a folder by path; all files below it if `is_recursive`.

    Only paths that `is_listed` accepts are files of the result.
    """
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
    direct = [row for row in rows if (is_recursive or "/" not in row.path[len(prefix) :]) and is_listed(row.path)]
    texts = _texts(project.id, sorted({row.sha for row in direct}))
    listed = [_file(row, texts.get(row.sha)) for row in direct]
    return [] if is_recursive else [ListedFolder(path, count) for path, count in sorted(folders.items())], listed


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


def _file(row: Any, text: Any) -> ListedFile:
    values, commit = (text.front_matter if text is not None else None) or {}, row.last_commit or {}
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
