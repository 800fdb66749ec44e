"""The project log: what happened to files, told by clients, by saves and by pushes; read newest first."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from app.core.cursors import decode_cursor, encode_cursor
from app.core.upserts import insert_rows
from app.extensions import db
from app.models.project import Project
from app.models.project_log import LogAction, LogSource, ProjectLogEntry
from app.models.user import User
from app.resources.project.activity import FileEvent, FilesChanged

FILE_TYPE_LENGTH = 40
PER_COMMIT = ("project_id", "commit_sha", "file")


@dataclass(frozen=True)
class LogPage:
    """Some entries, how many there are in all, and where the next page starts."""

    project_id: str
    logs: list[ProjectLogEntry]
    meta: dict[str, Any]


def record(project: Project, action: LogAction, file: str, file_type: str | None, *, by: User) -> ProjectLogEntry:
    """Keep what a client reports; who and when are ours to say."""
    entry = ProjectLogEntry(
        project_id=project.id,
        action=action,
        file=file,
        file_type=file_type or _type_of(file),
        user_id=by.id,
        user_name=by.name,
        source=LogSource.CLIENT,
    )
    db.session.add(entry)
    db.session.flush()
    return entry


def record_changes(changed: FilesChanged) -> None:
    """Keep the changes of commits, each once; a save's own word replaces what a push had told of the same commit."""
    told = ("action", "user_id", "user_name", "source") if changed.source is LogSource.COMMIT else ()
    statement = insert_rows(db.engine.dialect.name, ProjectLogEntry, unique=PER_COMMIT, changed=told)
    rows = [_values(changed, event) for event in changed.files]
    if rows:
        db.session.execute(statement, rows)


def _values(changed: FilesChanged, event: FileEvent) -> dict[str, Any]:
    return {
        "project_id": changed.project_id,
        "action": event.action,
        "file": event.path,
        "file_type": _type_of(event.path),
        "user_id": changed.by.id if changed.by else None,
        "user_name": changed.by.name if changed.by else event.author,
        "source": changed.source,
        "commit_sha": event.commit_sha,
    }


def _type_of(file: str) -> str | None:
    name = file.rsplit("/", 1)[-1].lstrip(".")
    return name.rpartition(".")[2].lower()[:FILE_TYPE_LENGTH] if "." in name else None


def read(
    project: Project, *, limit: int, cursor: str | None, action: LogAction | None = None, file: str | None = None
) -> LogPage:
    """A page of the log, newest first."""
    entry = ProjectLogEntry
    wanted = [entry.project_id == project.id]
    if action is not None:
        wanted.append(entry.action == action)
    if file is not None:
        wanted.append(entry.file == file)
    total = db.session.scalar(sa.select(sa.func.count()).select_from(entry).where(*wanted)) or 0
    if cursor:
        wanted.append(entry.id < decode_cursor(cursor, "log"))
    found = list(db.session.scalars(sa.select(entry).where(*wanted).order_by(entry.id.desc()).limit(limit + 1)))
    shown = found[:limit]
    following = encode_cursor("log", shown[-1].id) if len(found) > limit else None
    return LogPage(project.id, shown, {"total": total, "next_cursor": following})


def forget(user: User) -> None:
    """Keep what somebody did who goes, without their name."""
    db.session.execute(sa.update(ProjectLogEntry).where(ProjectLogEntry.user_id == user.id).values(user_name=None))
