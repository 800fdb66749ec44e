"""Pull requests of a project's repository at its host. Local repositories have none."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.errors import Conflict, ErrorMessage, NotFound, UnprocessableEntity
from app.core.ids import HasId
from app.core.outbound import UnrecordedAct
from app.database import transactions
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import PullRequest, PullRequests
from app.models.project import Project
from app.resources.git_provider.provider_selection import open_repository
from app.resources.project.branches import check_direct_commit, late_record
from app.resources.project.events import BranchWriter, branch_moved, branch_written


@dataclass(frozen=True)
class Proposal:
    """A request to merge one branch into another."""

    title: str
    head: str
    base: str
    body: str


def list_all(project: Project, *, hosts: GitHosts, user: HasId) -> Sequence[PullRequest]:
    """Return the pull requests, newest first, at most 100.

    Raises:
        Conflict: the project has no repository.
        UnprocessableEntity: its host has no pull requests.
    """
    return _reach(project, hosts, user).pull_requests()


def propose(project: Project, proposal: Proposal, *, hosts: GitHosts, user: HasId) -> PullRequest:
    """Create a pull request.

    Raises:
        PullRequestExists: the branches have an open one.
        Conflict, UnprocessableEntity: see `list_all`.
    """
    repository = _reach(project, hosts, user)
    return repository.create_pull_request(
        title=proposal.title, head=proposal.head, base=proposal.base, body=proposal.body
    )


def merge(project: Project, number: str, *, hosts: GitHosts, user: HasId) -> UnrecordedAct[dict[str, object]]:
    """Merge a pull request.

    Raises:
        NotFound: the number is unknown.
        ChangeSetRequired: the branch receives only change sets.
        NotMergeable: it is merged or closed, or the branches conflict.
        Conflict, UnprocessableEntity: see `list_all`.
    """
    if not number.isascii() or not number.isdecimal() or len(number) > 9:
        raise NotFound("There is no such pull request")
    repository = _reach(project, hosts, user)
    base = repository.pull_request(int(number)).base
    check_direct_commit(project.id, base)
    with transactions.write_transaction():
        branch_written.publish(BranchWriter.through(project, base, user))
    project_id = project.id
    merged = repository.merge_pull_request(int(number))
    result: dict[str, object] = {"merged": True, "commit_sha": merged.sha}

    def record() -> dict[str, object]:
        branch_moved.publish(project, merged.branch, merged.sha)
        return result

    return UnrecordedAct(record, late_record(project_id, merged.branch, merged.sha, result))


def _reach(project: Project, hosts: GitHosts, user: HasId) -> PullRequests:
    if not project.repository:
        raise Conflict(ErrorMessage("Connect a repository to this project first"), code="DISCONNECTED")
    repository = open_repository(project, hosts=hosts, user=user)
    if not isinstance(repository, PullRequests):
        raise UnprocessableEntity("Local repositories have branches only, no pull requests", code="NO_PULL_REQUESTS")
    return repository
