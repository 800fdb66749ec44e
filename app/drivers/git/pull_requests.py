"""The port of Git hosts with pull requests."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from app.drivers.errors import DriverError
from app.drivers.git.port import RepoRef


class PullRequestState(StrEnum):
    """The state of a pull request."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


@dataclass(frozen=True)
class PullRequest:
    """A pull request of GitHub or a merge request of GitLab. `number` is unique in its repository."""

    number: int
    title: str
    state: PullRequestState
    head: str
    base: str
    url: str


@dataclass(frozen=True)
class Merged:
    """The merge commit of a pull request and its branch."""

    sha: str
    branch: str


class PullRequestExists(DriverError):
    """An open pull request of the same branches that exists already (409)."""


class NotMergeable(DriverError):
    """A pull request that is merged, closed or not mergeable (409). Nothing was changed."""


@runtime_checkable
class PullRequests(Protocol):
    """The pull requests of a host."""

    def pull_requests(self, repo: RepoRef) -> Sequence[PullRequest]:
        """Return the newest 100 pull requests, newest first."""

    def create_pull_request(self, repo: RepoRef, *, title: str, head: str, base: str, body: str) -> PullRequest:
        """Create a pull request. Raises PullRequestExists, UpstreamRejected, RepositoryUnavailable."""

    def merge_pull_request(self, repo: RepoRef, number: int) -> Merged:
        """Merge a pull request. Raises GitObjectMissing, NotMergeable."""
