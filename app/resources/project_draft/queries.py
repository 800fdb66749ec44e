"""Read-only statements on drafts: the unsaved text of users, compared with the saved file."""

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from app.core.errors import NotFound
from app.core.ids import HasId
from app.extensions import db
from app.models.project import Project
from app.models.project_content import ContentFile, ContentIndex, DraftImage, ProjectDraft

MAX_START = 8_000
"""The characters of a new file that a list of new files reads, for its title."""


@dataclass(frozen=True)
class DraftKey:
    """The draft of a user for a file of a branch."""

    project_id: str
    user_id: str
    branch: str
    file: str

    @classmethod
    def on(cls, project: Project, user: HasId, branch: str | None, file: str) -> "DraftKey":
        """Return the key of a draft on a branch of a project, the working branch by default."""
        return cls(project.id, user.id, branch or project.branch, file)

    def of(self, table: type[ProjectDraft] | type[DraftImage]) -> tuple[sa.ColumnElement[bool], ...]:
        """Return the conditions of the rows of the draft."""
        return (
            table.project_id == self.project_id,
            table.user_id == self.user_id,
            table.branch == self.branch,
            table.file == self.file,
        )


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


def drafts_on(project: Project, *, by: HasId, branch: str | None = None) -> list[DraftWithHead]:
    """Return the drafts of a user on a branch, the latest first, without their texts."""
    draft = ProjectDraft
    is_own = (draft.project_id == project.id, draft.user_id == by.id, draft.branch == (branch or project.branch))
    ordered = _with_heads(*is_own).order_by(draft.updated_at.desc(), draft.file)
    return [DraftWithHead(*row) for row in db.session.execute(ordered.options(sa.orm.defer(draft.content)))]


def new_files(project: Project, *, by: HasId) -> list[NewFile]:
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


def find(key: DraftKey) -> DraftWithHead:
    """Return a draft. Raises NotFound."""
    row = db.session.execute(_with_heads(*key.of(ProjectDraft))).first()
    if row is None:
        raise NotFound("There is no draft of this file")
    return DraftWithHead(*row)


def is_known_base(key: DraftKey, blob_sha: str) -> bool:
    """Return whether a blob is the indexed version of a file, or the checked base of the user's draft of it."""
    draft, index = ProjectDraft, ContentIndex
    is_own = sa.and_(index.project_id == key.project_id, index.branch == key.branch)
    indexed = sa.select(ContentFile.sha).join(index, is_own).where(_is_at(key.file), ContentFile.sha == blob_sha)
    stored = sa.select(draft.base_blob_sha).where(*key.of(draft), draft.base_blob_sha == blob_sha)
    return db.session.scalar(indexed.union_all(stored).limit(1)) is not None


def _with_heads(*conditions: sa.ColumnElement[bool]) -> sa.Select[ProjectDraft, str]:
    return sa.select(ProjectDraft, ContentFile.sha).select_from(_with_files()).where(*conditions)


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
