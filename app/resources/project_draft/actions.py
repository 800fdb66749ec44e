"""Use cases of drafts, the unsaved text of a user for a file. They run in the transaction of their caller."""

from collections.abc import Sequence
from dataclasses import asdict

import sqlalchemy as sa

from app.core.errors import Conflict, InvalidRequest, LimitReached
from app.database.inserts import insert_or_ignore, insert_or_update
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.project_content import ProjectDraft
from app.resources.project_content.actions import ContentBranch
from app.resources.project_content.source import is_version
from app.resources.project_draft import images, queries
from app.resources.project_draft.queries import DraftKey, DraftWithHead
from app.resources.source_marks.queries import without_marks

MAX_DRAFTS = 500
UNIQUE = ("project_id", "user_id", "branch", "file")
NOT_A_VERSION = "This is not a version of this file, or one with many newer versions. For an old version, send base_sha"


class DraftExists(Conflict):
    """The user has a draft of the file (409)."""

    message = "You have a draft of this file"


def check_base(branch: ContentBranch, key: DraftKey, blob_sha: str | None, *, base_sha: str | None) -> None:
    """Require that the base of a draft was a version of its file. Only an unknown base calls the Git host.

    Call it outside of a transaction.

    Raises:
        InvalidRequest: it was not, or it cannot be verified within the limits.
    """
    if blob_sha is None or queries.is_known_base(key, blob_sha):
        return
    if not is_version(branch.source(), key.file, blob_sha, base_sha=base_sha):
        raise InvalidRequest.field("base_blob_sha", NOT_A_VERSION)


def save_draft(key: DraftKey, content: str, *, base_blob_sha: str | None) -> DraftWithHead:
    """Store a draft and replace the previous one.

    Raises:
        LimitReached: the user has the maximum number of drafts in this project.
    """
    now, content = utcnow_ms(), without_marks(key.project_id, content)
    changes = {"content": content, "base_blob_sha": base_blob_sha, "updated_at": now}
    row = asdict(key) | changes | {"created_at": now}
    statement = insert_or_update(db.engine.dialect.name, ProjectDraft, row, unique=UNIQUE, changes=changes)
    db.session.execute(statement)
    _check_limit(key)
    db.session.expire_all()
    return queries.find(key)


def create_draft(key: DraftKey, content: str) -> DraftWithHead:
    """Store the draft of a new file of a branch.

    Raises:
        DraftExists: the user has a draft of this file.
        LimitReached: the user has the maximum number of drafts in this project.
    """
    now, content = utcnow_ms(), without_marks(key.project_id, content)
    row = asdict(key) | {"content": content, "base_blob_sha": None, "created_at": now, "updated_at": now}
    statement = insert_or_ignore(db.engine.dialect.name, ProjectDraft, row, unique=UNIQUE)
    if db.session.scalar(statement.returning(ProjectDraft.file)) is None:
        raise DraftExists
    _check_limit(key)
    return queries.find(key)


def delete_draft(key: DraftKey) -> None:
    """Delete a draft with its images, if it exists."""
    delete_text(key)
    images.delete_of_draft(key)


def delete_text(key: DraftKey, *, content: str | None = None) -> None:
    """Delete the text of a draft, if it exists. Its images remain, so that the text can name them again.

    With `content`, another text stays.
    """
    is_same = () if content is None else (ProjectDraft.content == content,)
    db.session.execute(sa.delete(ProjectDraft).where(*key.of(ProjectDraft), *is_same))


def finish_draft(key: DraftKey, image_ids: Sequence[str], *, content: str | None = None) -> None:
    """Delete a draft after its save, with the images that the save has committed.

    With `content`, another text stays.
    """
    delete_text(key, content=content)
    images.delete_saved(key, image_ids)


def _check_limit(key: DraftKey) -> None:
    draft = ProjectDraft
    is_own = (draft.project_id == key.project_id, draft.user_id == key.user_id)
    if (db.session.scalar(sa.select(sa.func.count()).select_from(draft).where(*is_own)) or 0) > MAX_DRAFTS:
        raise LimitReached(f"You have {MAX_DRAFTS} drafts in this project. Save or delete some first")
