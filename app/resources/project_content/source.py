"""The repository, branch and credential from which the content of a project is read."""

from dataclasses import dataclass

from app.core.errors import Conflict, ErrorMessage
from app.core.ids import HasId
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import GitProvider, RepoRef
from app.models.project import Project
from app.resources.git_provider.provider_selection import provider_for


@dataclass(frozen=True)
class Source:
    """A branch of a repository with a provider that can read it."""

    git: GitProvider
    repo: RepoRef
    branch: str


class Disconnected(Conflict):
    """A call that needs the repository of a disconnected project (409)."""

    code, message = "DISCONNECTED", ErrorMessage("Connect a repository to this project first")


def source_of(project: Project, hosts: GitHosts, *, branch: str | None = None, user: HasId | None = None) -> Source:
    """Return the source of the working branch of a project, or of another branch.

    Raises:
        Disconnected: the project has no repository.
        ReconnectRequired, RepositoryUnavailable: no credential can read it.
    """
    if not project.repository or not (branch or project.branch):
        raise Disconnected
    git = provider_for(project, hosts=hosts, user=user)
    return Source(git, RepoRef(project.repository, project.repository_id), branch or project.branch)
