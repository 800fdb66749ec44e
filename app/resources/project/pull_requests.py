"""Pull requests of a project's repository, read and made at its host; bare repositories have branches only."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.errors import Conflict, NotFound, Refused
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import RepoRef
from app.drivers.git.pull_requests import Merged, PullRequest, PullRequests
from app.models.project import Project
from app.models.user import User
from app.resources.git_provider.service import provider_for
from app.resources.project.events import branch_moved


@dataclass(frozen=True)
class Proposal:
    """One branch to be merged into another."""

    title: str
    head: str
    base: str
    body: str


def list_all(project: Project, *, hosts: GitHosts, actor: User) -> Sequence[PullRequest]:
    """All of them, newest first, at most 100.

    Raises:
        Conflict: the project has no repository.
        Refused: its host has no pull requests.
    """
    at, repo = _reach(project, hosts, actor)
    return at.pull_requests(repo)


def propose(project: Project, proposal: Proposal, *, hosts: GitHosts, actor: User) -> PullRequest:
    """Make one.

    Raises:
        PullRequestExists: there is an open one of these branches.
        Conflict, Refused: as `list_all`.
    """
    at, repo = _reach(project, hosts, actor)
    return at.create_pull_request(
        repo, title=proposal.title, head=proposal.head, base=proposal.base, body=proposal.body
    )


def merge(project: Project, number: str, *, hosts: GitHosts, actor: User) -> Merged:
    """Merge one; `record` it in the transaction that follows.

    Raises:
        NotFound: there is none of that number.
        NotMergeable: it is merged or closed already, or does not merge.
        Conflict, Refused: as `list_all`.
    """
    if not number.isascii() or not number.isdecimal() or len(number) > 9:
        raise NotFound("There is no such pull request")
    at, repo = _reach(project, hosts, actor)
    return at.merge_pull_request(repo, int(number))


def record(project: Project, merged: Merged) -> dict[str, object]:
    """Announce where the branch is now; tells the commit that merged."""
    branch_moved.announce(project, merged.branch, merged.sha)
    return {"merged": True, "commit_sha": merged.sha}


def _reach(project: Project, hosts: GitHosts, actor: User) -> tuple[PullRequests, RepoRef]:
    if not project.repository:
        raise Conflict("Connect a repository to this project first", code="DISCONNECTED")
    git = provider_for(project, hosts=hosts, actor=actor)
    if not isinstance(git, PullRequests):
        raise Refused("Local repositories have branches only, no pull requests", code="NO_PULL_REQUESTS")
    return git, RepoRef(project.repository, project.repository_id)
