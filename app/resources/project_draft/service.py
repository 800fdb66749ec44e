"""Rules of drafts: the unsaved text of a user for a file of a branch, compared with the saved file."""

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from app.core.errors import Conflict, LimitReached, NotFound
from app.database.inserts import insert_or_ignore, insert_or_update
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.project import Project
from app.models.project_content import ContentFile, ContentIndex, ProjectDraft
from app.models.user import User
from app.resources.project_draft import images

MAX_DRAFTS = 500
MAX_START = 8_000
"""The characters of a new file that a list of new files reads, for its title."""

UNIQUE = ("project_id", "user_id", "branch", "file")


class DraftExists(Conflict):
    """The user has a draft of the file (409)."""

    message = "You have a draft of this file"


@dataclass(frozen=True)
class NewFile:
    """The draft of a file that the branch does not contain. `start` is the start of its text."""

    file: str
    start: str
    updated_at: datetime


@dataclass(frozen=True)
class DraftWithHead:
    """A draft with the present blob of its file, or None if the branch has no such file."""

    draft: ProjectDraft
    current_blob_sha: str | None

    @property
    def conflict(self) -> bool:
        """True if the file changed since the draft was started."""
        return self.draft.base_blob_sha != self.current_blob_sha


def read(project: Project, *, by: User, branch: str | None, file: str | None) -> list[DraftWithHead]:
    """Return the drafts of a user on a branch, the latest first, without their texts, or the draft of one file."""
    draft = ProjectDraft
    conditions = [draft.project_id == project.id, draft.user_id == by.id, draft.branch == (branch or project.branch)]
    if file is not None:
        conditions.append(draft.file == file)
    rows = db.session.execute(
        sa.select(draft, ContentFile.sha)
        .select_from(_with_files())
        .where(*conditions)
        .order_by(draft.updated_at.desc(), draft.file)
        .options(*([] if file is not None else [sa.orm.defer(draft.content)]))
    )
    return [DraftWithHead(stored, sha) for stored, sha in rows]


def new_files(project: Project, *, by: User) -> list[NewFile]:
    """Return the drafts of a user for files that the working branch does not contain, the latest first."""
    draft = ProjectDraft
    statement = (
        sa.select(draft.file, sa.func.substr(draft.content, 1, MAX_START), draft.updated_at)
        .select_from(_with_files())
        .where(draft.project_id == project.id, draft.user_id == by.id, draft.branch == project.branch)
        .where(draft.base_blob_sha.is_(None), ContentFile.sha.is_(None))
        .order_by(draft.updated_at.desc(), draft.file)
    )
    return [NewFile(*row) for row in db.session.execute(statement)]


def find(project: Project, *, by: User, branch: str | None, file: str) -> DraftWithHead:
    """Return the draft of a user for a file. Raises NotFound."""
    drafts = read(project, by=by, branch=branch, file=file)
    if not drafts:
        raise NotFound("There is no draft of this file")
    return drafts[0]


def one_or_all(
    project: Project, *, by: User, branch: str | None, file: str | None
) -> DraftWithHead | list[DraftWithHead]:
    """Return the draft of a file, or all drafts on the branch if `file` is None. Raises NotFound for one file."""
    if file is None:
        return read(project, by=by, branch=branch, file=None)
    return find(project, by=by, branch=branch, file=file)


def is_known_base(project: Project, *, by: User, branch: str | None, file: str, blob_sha: str) -> bool:
    """Return whether a blob is the indexed version of a file, or the checked base of the user's draft of it."""
    draft, name = ProjectDraft, branch or project.branch
    indexed = (
        sa.select(ContentFile.sha)
        .join(ContentIndex, sa.and_(ContentIndex.project_id == project.id, ContentIndex.branch == name))
        .where(_is_at(file), ContentFile.sha == blob_sha)
    )
    stored = sa.select(draft.base_blob_sha).where(
        draft.project_id == project.id,
        draft.user_id == by.id,
        draft.branch == name,
        draft.file == file,
        draft.base_blob_sha == blob_sha,
    )
    return db.session.scalar(indexed.union_all(stored).limit(1)) is not None


def save(
    project: Project, *, by: User, branch: str | None, file: str, content: str, base_blob_sha: str | None
) -> DraftWithHead:
    """Store the draft of a user for a file and replace the previous one.

    Raises:
        LimitReached: the user has the maximum number of drafts in this project.
    """
    key = {"project_id": project.id, "user_id": by.id, "branch": branch or project.branch, "file": file}
    now = utcnow_ms()
    changes = {"content": content, "base_blob_sha": base_blob_sha, "updated_at": now}
    row = key | changes | {"created_at": now}
    statement = insert_or_update(db.engine.dialect.name, ProjectDraft, row, unique=UNIQUE, changes=changes)
    db.session.execute(statement)
    _check_limit(project, by)
    db.session.expire_all()
    return find(project, by=by, branch=branch, file=file)


def create(project: Project, *, by: User, branch: str | None, file: str, content: str) -> DraftWithHead:
    """Store the draft of a new file of a branch.

    Raises:
        DraftExists: the user has a draft of this file.
        LimitReached: the user has the maximum number of drafts in this project.
    """
    key = {"project_id": project.id, "user_id": by.id, "branch": branch or project.branch, "file": file}
    now = utcnow_ms()
    row = key | {"content": content, "base_blob_sha": None, "created_at": now, "updated_at": now}
    statement = insert_or_ignore(db.engine.dialect.name, ProjectDraft, row, unique=UNIQUE)
    if db.session.scalar(statement.returning(ProjectDraft.file)) is None:
        raise DraftExists
    _check_limit(project, by)
    return find(project, by=by, branch=branch, file=file)


def delete(project: Project, *, by: User, branch: str | None, file: str) -> None:
    """Delete the draft of a user for a file with its images, if it exists."""
    delete_text(project, by=by, branch=branch, file=file)
    images.delete_of_draft(project, by=by, branch=branch or project.branch, file=file)


def delete_text(project: Project, *, by: User, branch: str | None, file: str) -> None:
    """Delete the text of a draft, if it exists. Its images remain, so that the text can name them again."""
    draft = ProjectDraft
    db.session.execute(
        sa.delete(draft).where(
            draft.project_id == project.id,
            draft.user_id == by.id,
            draft.branch == (branch or project.branch),
            draft.file == file,
        )
    )


def _check_limit(project: Project, by: User) -> None:
    draft = ProjectDraft
    mine = sa.select(sa.func.count()).select_from(draft).where(draft.project_id == project.id, draft.user_id == by.id)
    if (db.session.scalar(mine) or 0) > MAX_DRAFTS:
        raise LimitReached(f"You have {MAX_DRAFTS} drafts in this project. Save or delete some first")


def _with_files() -> sa.FromClause:
    """Return the table of drafts with the present file of each draft, if its branch contains it."""
    draft, index = ProjectDraft, ContentIndex
    is_own = sa.and_(index.project_id == draft.project_id, index.branch == draft.branch)
    joined = sa.outerjoin(draft, index, is_own)
    return sa.outerjoin(joined, ContentFile, _is_at(draft.file))


def _is_at(path: sa.orm.InstrumentedAttribute[str] | str) -> sa.ColumnElement[bool]:
    file = ContentFile
    return sa.and_(
        file.index_id == ContentIndex.id,
        file.generation == ContentIndex.generation,
        file.path == path,
        file.type == "blob",
    )
