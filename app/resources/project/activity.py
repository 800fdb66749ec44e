"""The announcement that files of a project's branch changed in Git: by a save here, or by a push seen."""

from dataclasses import dataclass

from app.core.events import Event
from app.models.project_log import LogAction, LogSource
from app.models.user import User


@dataclass(frozen=True)
class FileEvent:
    """What became of one path, and the commit that did it."""

    path: str
    action: LogAction
    commit_sha: str
    author: str | None = None


@dataclass(frozen=True)
class FilesChanged:
    """The paths of one or several commits; `by` is the user of a save, None for a push."""

    project_id: str
    source: LogSource
    files: tuple[FileEvent, ...]
    by: User | None = None


files_changed: Event[[FilesChanged]] = Event("files_changed")
