"""Drafts: a person's unsaved work on a file of a branch, told apart from what has been saved there meanwhile."""

from dataclasses import dataclass

import sqlalchemy as sa

from app.core.errors import LimitReached, NotFound
from app.core.upserts import insert_or_update
from app.extensions import db
from app.models.base import moment
from app.models.project import Project
from app.models.project_content import ContentFile, ContentIndex
from app.models.project_draft import ProjectDraft
from app.models.user import User

MAX_DRAFTS = 500
UNIQUE = ("project_id", "user_id", "branch", "file")


@dataclass(frozen=True)
class Told:
    """A draft, and the blob that the branch has under its path now; None where there is none."""

    draft: ProjectDraft
    current_blob_sha: str | None

    @property
    def conflict(self) -> bool:
        """Whether the file is no longer what the draft was started from."""
        return self.draft.base_blob_sha != self.current_blob_sha


def read(project: Project, *, by: User, branch: str | None, file: str | None) -> list[Told]:
    """The caller's drafts on a branch, the latest first; of one file where that is given."""
    draft = ProjectDraft
    wanted = [draft.project_id == project.id, draft.user_id == by.id, draft.branch == (branch or project.branch)]
    if file is not None:
        wanted.append(draft.file == file)
    rows = db.session.execute(
        sa.select(draft, ContentFile.sha)
        .outerjoin(ContentIndex, sa.and_(ContentIndex.project_id == project.id, ContentIndex.branch == draft.branch))
        .outerjoin(ContentFile, _is_at(draft.file))
        .where(*wanted)
        .order_by(draft.updated_at.desc(), draft.file)
    )
    return [Told(found, sha) for found, sha in rows]


def find(project: Project, *, by: User, branch: str | None, file: str) -> Told:
    """The caller's draft of a file. Raises NotFound."""
    found = read(project, by=by, branch=branch, file=file)
    if not found:
        raise NotFound("There is no draft of this file")
    return found[0]


def one_or_all(project: Project, *, by: User, branch: str | None, file: str | None) -> Told | list[Told]:
    """The caller's draft of the file that is named, or all of theirs on the branch. Raises NotFound for the one."""
    if file is None:
        return read(project, by=by, branch=branch, file=None)
    return find(project, by=by, branch=branch, file=file)


def keep(project: Project, *, by: User, branch: str | None, file: str, content: str, base_blob_sha: str | None) -> Told:
    """Write the caller's draft of a file, in place of the one before.

    Raises:
        LimitReached: they have too many drafts in this project already.
    """
    named = {"project_id": project.id, "user_id": by.id, "branch": branch or project.branch, "file": file}
    now = moment()
    changes = {"content": content, "base_blob_sha": base_blob_sha, "updated_at": now}
    made = named | changes | {"created_at": now}
    statement = insert_or_update(db.engine.dialect.name, ProjectDraft, made, unique=UNIQUE, changes=changes)
    db.session.execute(statement)
    _check_limit(project, by)
    db.session.expire_all()
    return find(project, by=by, branch=branch, file=file)


def drop(project: Project, *, by: User, branch: str | None, file: str) -> None:
    """Forget the caller's draft of a file; none being there is no error."""
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
        raise LimitReached(f"You have {MAX_DRAFTS} drafts in this project; save or drop some first")


def _is_at(path: sa.orm.InstrumentedAttribute[str]) -> sa.ColumnElement[bool]:
    file = ContentFile
    return sa.and_(
        file.index_id == ContentIndex.id,
        file.generation == ContentIndex.generation,
        file.path == path,
        file.type == "blob",
    )
