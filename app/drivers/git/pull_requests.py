"""What Galley asks of a repository host that has pull requests; bare repositories have none."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from app.drivers.errors import DriverError
from app.drivers.git.port import RepoRef


class PullRequestState(StrEnum):
    """Where a pull request is."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


@dataclass(frozen=True)
class PullRequest:
    """A pull request of GitHub, a merge request of GitLab; `number` is the one its repository counts."""

    number: int
    title: str
    state: PullRequestState
    head: str
    base: str
    url: str


@dataclass(frozen=True)
class Merged:
    """The commit by which a pull request was merged, and the branch it is on now."""

    sha: str
    branch: str


class PullRequestExists(DriverError):
    """There is an open one of that branch into that branch already (409)."""


class NotMergeable(DriverError):
    """It is merged or closed already, or it cannot be merged as it stands (409); nothing was changed."""


@runtime_checkable
class PullRequests(Protocol):
    """Proposals to merge one branch into another, where the host has them."""

    def pull_requests(self, repo: RepoRef) -> Sequence[PullRequest]:
        """All of them, newest first, at most 100."""

    def create_pull_request(self, repo: RepoRef, *, title: str, head: str, base: str, body: str) -> PullRequest:
        """Propose to merge `head` into `base`. Raises PullRequestExists, Rejected, RepositoryUnavailable."""

    def merge_pull_request(self, repo: RepoRef, number: int) -> Merged:
        """Merge it. Raises ObjectNotFound, NotMergeable."""
