"""The entries of one folder of a branch: subfolders with their number of files, and files with title, date and draft state."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from app.content.filetypes import file_type
from app.content.front_matter.reader import LANGUAGES
from app.database import session
from app.extensions import db
from app.models.project import Project
from app.models.project_content import ContentBlob, ContentFile, ContentIndex
from app.resources.project_content.file_metadata import facts_of, kind_of, store_facts
from app.resources.project_content.source import Source

BLOBS_PER_STATEMENT = 500
MAX_DESCRIBED, MAX_DESCRIBED_BYTES = 200, 256 * 1024
"""The files that one request reads from the Git host, and the size above which a file is listed without a title."""


@dataclass(frozen=True)
class ListedFile:
    """A file of a folder. Title, date and draft state are None until the file was described."""

    path: str
    size: int | None
    sha: str
    title: str | None
    date: str | None
    is_draft: bool
    changed_by: str | None
    changed_at: str | None
    is_described: bool

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
    project: Project, index: ContentIndex | None, folder: str, *, is_recursive: bool = False
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
    direct = rows if is_recursive else [row for row in rows if "/" not in row.path[len(prefix) :]]
    facts = _facts(project, direct)
    listed = [_file(row, facts.get((row.sha, kind_of(row.path)), {})) for row in direct]
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


def describe_missing(project: Project, files: Sequence[ListedFile], source: Source) -> bool:
    """Read and store the facts of at most `MAX_DESCRIBED` text files without stored facts. Return whether there were any.

    The database session must hold no connection.
    """
    missing = {file.sha: file.path for file in files if not file.is_described and _has_facts(file)}
    batch = dict(list(missing.items())[:MAX_DESCRIBED])
    blobs = source.git.blobs(source.repo, batch) if batch else ()
    facts = [(sha, kind_of(batch[sha]), facts_of(batch[sha], data)) for sha, data in blobs if data is not None]
    if facts:
        with session.write_transaction():
            store_facts(project.id, facts)
    return bool(facts)


def _has_facts(file: ListedFile) -> bool:
    return file_type(file.path).language in LANGUAGES and (file.size or 0) <= MAX_DESCRIBED_BYTES


def _facts(project: Project, rows: Sequence[Any]) -> dict[tuple[str, str], dict[str, Any]]:
    blob, facts = ContentBlob, dict[tuple[str, str], dict[str, Any]]()
    for shas in _batches(sorted({row.sha for row in rows})):
        statement = sa.select(blob.sha, blob.kind, blob.facts).where(blob.project_id == project.id, blob.sha.in_(shas))
        facts |= {(sha, kind): stored for sha, kind, stored in db.session.execute(statement)}
    return facts


def _batches(shas: list[str]) -> Iterable[list[str]]:
    return (shas[start : start + BLOBS_PER_STATEMENT] for start in range(0, len(shas), BLOBS_PER_STATEMENT))


def _file(row: Any, facts: dict[str, Any]) -> ListedFile:
    values, commit = facts.get("front_matter") or {}, row.last_commit or {}
    date = values.get("date")
    return ListedFile(
        row.path,
        row.size,
        row.sha,
        facts.get("title"),
        str(date) if isinstance(date, str | int) else None,
        values.get("draft") is True,
        commit.get("author"),
        commit.get("date"),
        bool(facts),
    )
