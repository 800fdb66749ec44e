"""Refusal of files that `.gitattributes` sends to Git LFS.

The service stores no objects of LFS. A client with LFS would show a plain file as changed after each clone.
"""

from collections.abc import Iterable

import sqlalchemy as sa

from app.content import git_attributes
from app.content.git_attributes import LfsRules
from app.core.errors import ErrorMessage, FieldError, UnprocessableEntity
from app.core.limits import KIB
from app.database import transactions
from app.drivers.git.port import FileChange
from app.extensions import db
from app.models.project import Project
from app.models.project_content import ContentFile
from app.resources.project_content.index import indexes
from app.resources.project_content.source import Source

MAX_ATTRIBUTES_BYTES, MAX_FILES = 64 * KIB, 20
"""Larger attribute files, and further ones in deeper folders, are ignored."""


class StoredInLfs(UnprocessableEntity):
    """A save of a file whose content belongs to Git LFS (422)."""

    message = ErrorMessage("The file .gitattributes sends this file to Git LFS. Nothing was saved. Commit it with Git")


def require_plain_files(project_id: str, source: Source, changes: Iterable[FileChange]) -> None:
    """Require that Git stores the content of all changed files. Pointers of LFS are permitted.

    The rules are those of the index. A branch that is not indexed yet has those of the working branch.

    Raises:
        StoredInLfs: LFS stores a file, or a move would change where a file is stored.
    """
    written = [change for change in changes if change.content is not None or change.previous_path is not None]
    paths = {path for change in written for path in (change.path, change.previous_path) if path is not None}
    files = _files(project_id, source, {name for path in paths for name in git_attributes.attribute_files(path)})
    rules = LfsRules(files)
    refused = [change.path for change in written if files and _is_refused(change, rules)]
    if refused:
        raise StoredInLfs(fields=[FieldError(path, StoredInLfs.message) for path in refused])


def _is_refused(change: FileChange, rules: LfsRules) -> bool:
    if change.content is None and change.previous_path is not None:
        return rules.contain(change.path) is not rules.contain(change.previous_path)
    is_pointer = (change.content or b"").startswith(git_attributes.POINTER)
    return not is_pointer and rules.contain(change.path)


def _files(project_id: str, source: Source, names: set[str]) -> dict[str, str]:
    """Return the texts of the attribute files that exist."""
    index = indexes.find(project_id, source.branch)
    if index is None or index.commit_sha is None:
        index = indexes.find(project_id, db.session.get_one(Project, project_id).branch)
    if index is None or not names:
        return {}
    files = sa.select(ContentFile.path, ContentFile.sha).where(
        ContentFile.index_id == index.id,
        ContentFile.generation == index.generation,
        ContentFile.path.in_(names),
        # GitLab does not report the size of most files.
        sa.func.coalesce(ContentFile.size, 0) <= MAX_ATTRIBUTES_BYTES,
    )
    files = files.order_by(sa.func.length(ContentFile.path), ContentFile.path).limit(MAX_FILES)
    rows = db.session.execute(files).all()
    transactions.release_connection()
    texts = dict(source.repository.blobs({sha for _, sha in rows}, max_bytes=MAX_ATTRIBUTES_BYTES))
    return {path: text.decode(errors="replace") for path, sha in rows if (text := texts.get(sha)) is not None}
