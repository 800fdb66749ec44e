"""The branches of a project's repository, read and made at its host."""

from collections.abc import Sequence

from app.core.errors import Conflict
from app.core.refs import is_sha
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import Branch, GitProvider, RepoRef
from app.models.project import Project
from app.models.user import User
from app.resources.git_provider.service import provider_for


def list_all(project: Project, *, hosts: GitHosts, actor: User) -> Sequence[Branch]:
    """Every branch, by name.

    Raises:
        Conflict: the project has no repository.
        RepositoryUnavailable: it can no longer be read.
    """
    git, repo = _reach(project, hosts, actor)
    return git.branches(repo)


def create(project: Project, name: str, start: str | None, *, hosts: GitHosts, actor: User) -> Branch:
    """Make a branch where another branch, or a commit, is; without `start` where the working branch is.

    Raises:
        Conflict: the project has no repository.
        BranchExists: there is one of that name.
        RepositoryUnavailable, ObjectNotFound: there is no such start.
    """
    git, repo = _reach(project, hosts, actor)
    start = start or project.branch
    sha = start if is_sha(start) else git.head(repo, start)
    return git.create_branch(repo, name, sha)


def _reach(project: Project, hosts: GitHosts, actor: User) -> tuple[GitProvider, RepoRef]:
    if not project.repository:
        raise Conflict("Connect a repository to this project first", code="DISCONNECTED")
    return provider_for(project, hosts=hosts, actor=actor), RepoRef(project.repository, project.repository_id)
