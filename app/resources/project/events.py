"""Events of projects and of the files of their branches."""

from dataclasses import dataclass

from app.core.api_tokens import TokenGrant
from app.core.events import Event
from app.core.ids import HasId
from app.models.project import Project, Provider
from app.models.project_log import LogAction, LogSource


@dataclass(frozen=True)
class FileEvent:
    """A change of one path, with the commit that made it."""

    path: str
    action: LogAction
    commit_sha: str
    author: str | None = None


@dataclass(frozen=True)
class BranchMove:
    """A branch with its head before and after some commits. The head before a save is not known."""

    branch: str
    before: str | None
    after: str


@dataclass(frozen=True)
class FilesChanged:
    """The changed paths of one or several commits. `by` is the user of a save or push with its API token.

    It is None for a push that did not go through the service. `move` is None if another event reports the new head of
    the branch.
    """

    project_id: str
    source: LogSource
    files: tuple[FileEvent, ...]
    by: HasId | None = None
    grant: TokenGrant | None = None
    move: BranchMove | None = None


@dataclass(frozen=True)
class BranchWriter:
    """A user who wrote to a branch of a repository."""

    provider: Provider
    repository: str
    branch: str
    user_id: str

    @classmethod
    def through(cls, project: Project, branch: str, user: HasId) -> "BranchWriter":
        """Return the user of a write through a project."""
        return cls(project.provider, project.repository, branch, user.id)


project_connected: Event[[Project]] = Event("project_connected")
"""A project was created, or its repository or working branch changed. Empty names mean that it was disconnected."""

project_created: Event[[Project]] = Event("project_created")
"""A project was created."""

project_updated: Event[[Project]] = Event("project_updated")
"""The settings or the connection of a project changed, or it became active again."""

project_archived: Event[[Project]] = Event("project_archived")
"""A project was archived."""

branch_moved: Event[[Project, str, str]] = Event("branch_moved")
"""A branch has a new head through the project, but not by a save: the name of the branch and the head."""

branch_written: Event[[BranchWriter]] = Event("branch_written")
"""A user wrote to a branch through the service: with a save, a push, a merge, or by creating the branch."""

branch_deleted: Event[[Project, str]] = Event("branch_deleted")
"""A branch of a project's repository was deleted through the service: its name."""

project_moved: Event[[Project, str]] = Event("project_moved")
"""A project moved to another organization: the id of the previous one."""

project_deleting: Event[[Project]] = Event("project_deleting")
"""Published before the row of a project is deleted, in the same transaction."""

files_changed: Event[[FilesChanged]] = Event("files_changed")
"""Files of a project's branch changed in Git, by a save or by a push. A push may change none, or unknown ones."""
