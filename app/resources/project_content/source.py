"""Which repository and branch a project's content comes from, and who reads it."""

from dataclasses import dataclass

from app.core.errors import Conflict
from app.core.ids import Identified
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import GitProvider, RepoRef
from app.models.project import Project
from app.resources.git_provider.service import provider_for


@dataclass(frozen=True)
class Source:
    """Where a branch's files come from."""

    git: GitProvider
    repo: RepoRef
    branch: str


class Disconnected(Conflict):
    """The project has no repository (409)."""

    code, message = "DISCONNECTED", "Connect a repository to this project first"


def source_of(
    project: Project, hosts: GitHosts, *, branch: str | None = None, actor: Identified | None = None
) -> Source:
    """The source of a project's working branch, or of another of its branches.

    Raises:
        Disconnected: the project has no repository.
        NeedsReconnect, RepositoryUnavailable: nobody's credential reaches it.
    """
    if not project.repository or not (branch or project.branch):
        raise Disconnected
    git = provider_for(project, hosts=hosts, actor=actor)
    return Source(git, RepoRef(project.repository, project.repository_id), branch or project.branch)
