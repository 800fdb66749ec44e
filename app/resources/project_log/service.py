"""Rules of the project log: entries of clients, saves and pushes, and its pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from app.core.api_tokens import TokenGrant
from app.core.cursors import decode_cursor, paginate
from app.core.ids import HasId, new_id
from app.database.inserts import batches, insert_rows
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.project import Project
from app.models.project_log import LOG_ID, LogAction, LogSource, ProjectLogEntry
from app.models.user import User
from app.resources.project.events import FilesChanged

FILE_TYPE_LENGTH = 40
COMMITS_PER_STATEMENT = 500
PER_COMMIT = ("project_id", "commit_sha", "file")
_ENTRIES: sa.Table = sa.inspect(ProjectLogEntry).local_table  # type: ignore[assignment]


@dataclass(frozen=True)
class LogPage:
    """A page of entries with the total number and the cursor of the next page."""

    project_id: str
    logs: Sequence[ProjectLogEntry]
    meta: dict[str, object]


def record(
    project: Project,
    action: LogAction,
    file: str,
    file_type: str | None,
    *,
    by: HasId,
    grant: TokenGrant | None = None,
) -> ProjectLogEntry:
    """Store an entry that a client reports. Actor and time come from the server."""
    entry = ProjectLogEntry(
        project_id=project.id,
        action=action,
        file=file,
        file_type=file_type or _type_of(file),
        source=LogSource.CLIENT,
        **_actor(by, grant),
    )
    db.session.add(entry)
    db.session.flush()
    return entry


def record_changes(changed: FilesChanged) -> None:
    """Store the changes of commits, each once. The entry of a save replaces the entry of a push of the same commit."""
    replaced = (
        ("action", "user_id", "user_name", "source", "token_id", "token_name")
        if changed.source is LogSource.COMMIT
        else ()
    )
    by = _actor(changed.by, changed.grant) if changed.by else None
    rows = [
        {
            "id": new_id(LOG_ID),
            "created_at": utcnow_ms(),
            "project_id": changed.project_id,
            "action": event.action,
            "file": event.path,
            "file_type": _type_of(event.path),
            "source": changed.source,
            "commit_sha": event.commit_sha,
            **(by or {"user_id": None, "user_name": event.author, "token_id": None, "token_name": None}),
        }
        for event in changed.files
    ]
    if rows:
        insert_rows(db.session.connection(), _ENTRIES, rows, unique=PER_COMMIT, changed=replaced)
    if by and changed.source is LogSource.PUSH:
        _complete_pushes(changed, by)  # The insertion has waited for entries that another transaction was writing.


def _complete_pushes(changed: FilesChanged, by: Mapping[str, object]) -> None:
    """Name the user of a push in the entries that an index run has written before."""
    commits = {event.commit_sha for event in changed.files}
    for part in batches(sorted(commits), COMMITS_PER_STATEMENT):
        db.session.execute(
            sa.update(ProjectLogEntry)
            .where(
                ProjectLogEntry.project_id == changed.project_id,
                ProjectLogEntry.commit_sha.in_(part),
                ProjectLogEntry.source == LogSource.PUSH,
                ProjectLogEntry.user_id.is_(None),
                ProjectLogEntry.token_id.is_(None),
            )
            .values(**by),
            execution_options={"synchronize_session": False},
        )


def _actor(by: HasId, grant: TokenGrant | None) -> dict[str, object]:
    """Return who made a change: the user and the API token.

    The name of a service account replaces that of the owner.
    """
    token = {"token_id": grant.id if grant else None, "token_name": grant.name if grant else None}
    if grant is not None and grant.is_service_account:
        return {"user_id": None, "user_name": grant.name, **token}
    return {"user_id": by.id, "user_name": db.session.get_one(User, by.id).name, **token}


def _type_of(file: str) -> str | None:
    name = file.rsplit("/", 1)[-1].lstrip(".")
    return name.rpartition(".")[2].lower()[:FILE_TYPE_LENGTH] if "." in name else None


def read(
    project_id: str, *, limit: int, cursor: str | None = None, action: LogAction | None = None, file: str | None = None
) -> LogPage:
    """Return a page of the log of a project, newest first."""
    entry = ProjectLogEntry
    conditions = [entry.project_id == project_id]
    if action is not None:
        conditions.append(entry.action == action)
    if file is not None:
        conditions.append(entry.file == file)
    total = db.session.scalar(sa.select(sa.func.count()).select_from(entry).where(*conditions)) or 0
    if cursor:
        conditions.append(entry.id < decode_cursor(cursor, "log"))
    rows = db.session.scalars(sa.select(entry).where(*conditions).order_by(entry.id.desc()).limit(limit + 1)).all()
    page, next_cursor = paginate(rows, limit, "log", lambda row: row.id)
    return LogPage(project_id, page, {"total": total, "next_cursor": next_cursor})


def anonymize_author(user: User) -> None:
    """Remove the names of a deleted user and of the user's tokens from the log."""
    own = ProjectLogEntry.user_id == user.id
    db.session.execute(sa.update(ProjectLogEntry).where(own).values(user_name=None, token_name=None))
