"""The base class of Git providers with a REST API."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from app.concurrency.bounded import map_in_order
from app.core.refs import is_branch_name
from app.core.retry import RetryOptions, retry
from app.drivers.errors import DriverError, UpstreamRejected
from app.drivers.git.errors import BranchExists, BranchMoved, GitObjectMissing, RepositoryUnavailable, TooLargeToRead
from app.drivers.git.local.locks import exclusive_lock
from app.drivers.git.object_ids import require_shas
from app.drivers.git.port import (
    Branch,
    Checks,
    Commit,
    CommitInfo,
    FileChange,
    GitProvider,
    Merged,
    PathChange,
    Person,
    PullRequest,
    PullRequests,
    RepoRef,
    Repository,
    TreeEntry,
)
from app.drivers.git.rest.calls import RepositoryCalls
from app.drivers.git.rest.client import RestClient
from app.drivers.git.rest.interfaces import CommitHistory, CommitWriter, TreeReader
from app.drivers.git.rest.pull_requests import MergeOptions, PullRequestCalls
from app.drivers.git.rest.responses import RequestRefused, is_outcome_unknown
from app.drivers.git.tree_views import FOLDER
from app.drivers.http.client import LIMITS
from app.security.private_files import make_private_folder

BranchLock = Callable[[str, str], AbstractContextManager[None]]
"""Function that returns the lock of a branch. The lock only avoids failed attempts, so it may have no effect."""


def no_lock(_repository: str, _branch: str) -> AbstractContextManager[None]:
    """Do nothing."""
    return nullcontext()


def file_locks_in(folder: Path) -> BranchLock:
    """Return locks between the processes of this node, stored in a folder."""

    def take(repository: str, branch: str) -> AbstractContextManager[None]:
        make_private_folder(folder)
        return exclusive_lock(folder, repository, branch)

    return take


Calls = TypeVar("Calls", bound=RepositoryCalls)


class RestGitProvider(GitProvider, PullRequests, Generic[Calls]):
    """A Git host with a REST API. The methods that differ between hosts are abstract.

    `deadline_s` bounds one call with its retries: 30 in a request, more in a job.
    """

    TAKEN: ClassVar[tuple[str, ...]]
    """Messages of the host (lower case) for a branch name that exists or conflicts with another branch."""
    UNKNOWN: ClassVar[tuple[str, ...]]
    """Message of the host for a missing commit."""

    def __init__(self, client: RestClient, *, bot: Person, lock: BranchLock, deadline_s: float) -> None:
        self._client, self._bot, self._lock, self._deadline_s = client, bot, lock, deadline_s

    @abstractmethod
    def _at(self, repo: RepoRef) -> Calls:
        """Return the calls on a repository."""

    @abstractmethod
    def _trees(self, at: Calls) -> TreeReader: ...

    @abstractmethod
    def _history(self, at: Calls) -> CommitHistory: ...

    @abstractmethod
    def _pulls(self, at: Calls) -> PullRequestCalls: ...

    @abstractmethod
    def _committing(self, at: Calls, branch: str, author: Person) -> CommitWriter: ...

    @abstractmethod
    def _branches(self, at: Calls) -> Iterator[Branch]:
        """Yield all branches in any order."""

    @abstractmethod
    def _make_branch(self, at: Calls, name: str, sha: str) -> Branch:
        """Create a branch. Raises RequestRefused."""

    @abstractmethod
    def _remove_branch(self, at: Calls, name: str) -> None:
        """Delete a branch. Raises RequestRefused."""

    def repository(self, repo: RepoRef) -> Repository:
        return self._at(repo).facts()

    def branches(self, repo: RepoRef) -> Sequence[Branch]:
        return sorted(self._branches(self._at(repo)), key=lambda branch: branch.name.encode())

    def head(self, repo: RepoRef, branch: str) -> str:
        return self._at(repo).head(branch)

    def create_branch(self, repo: RepoRef, name: str, sha: str) -> Branch:
        """Create a branch at a commit. A branch whose response was lost is recognized by its commit."""
        if not is_branch_name(name):
            raise UpstreamRejected("The branch name is invalid", code="INVALID_BRANCH")
        require_shas(sha)
        at = self._at(repo)

        def attempt() -> Branch:
            try:
                return self._make_branch(at, name, sha)
            except RequestRefused as fault:
                raise self._creation_error(at, fault) from fault
            except DriverError as failure:
                if not is_outcome_unknown(failure) or not _is_head(at, name, sha):
                    raise
                return Branch(name, sha, default=False, protected=False)

        return retry(attempt, RetryOptions(is_transient=is_outcome_unknown, deadline_s=self._deadline_s))

    def delete_branch(self, repo: RepoRef, name: str, *, expected_head: str | None = None) -> None:
        """Delete a branch. If a first call without a response had its effect, the second one is successful."""
        at = self._at(repo)
        head = at.find_head(name)
        if head is None:
            raise GitObjectMissing("The branch does not exist in the repository")
        if expected_head not in (None, head):
            raise BranchMoved("The branch has moved since it was read")
        try:
            self._remove_branch(at, name)
        except RequestRefused as fault:
            if at.find_head(name) is None:
                return
            raise UpstreamRejected(
                f"The Git host did not delete this branch: {fault.message_of_host}", code="BRANCH_PROTECTED"
            ) from fault

    def tree(self, repo: RepoRef, commit: str) -> Iterator[TreeEntry]:
        return (entry for entry in self._trees(self._at(repo)).full_tree(commit) if entry.type != FOLDER)

    def list_folder(self, repo: RepoRef, commit: str, path: str = "", *, limit: int) -> Sequence[TreeEntry]:
        return self._trees(self._at(repo)).list_folder(commit, path, limit)

    def entries(self, repo: RepoRef, commit: str, paths: Sequence[str]) -> dict[str, TreeEntry]:
        return self._trees(self._at(repo)).entries(commit, paths)

    def changes(self, repo: RepoRef, old: str, new: str) -> Iterator[PathChange]:
        return self._trees(self._at(repo)).changes(old, new)

    def is_ancestor(self, repo: RepoRef, ancestor: str, descendant: str) -> bool:
        return self._at(repo).is_ancestor(ancestor, descendant)

    def history(self, repo: RepoRef, new: str, *, since: str | None = None) -> Iterator[CommitInfo]:
        return self._history(self._at(repo)).between(new, since)

    def last_commit(self, repo: RepoRef, commit: str, path: str) -> CommitInfo:
        return self._history(self._at(repo)).last(commit, path)

    def blob(self, repo: RepoRef, sha: str, *, max_bytes: int) -> bytes:
        """Read a blob of at most 25 MiB."""
        return self._at(repo).blob(sha, max_bytes=min(max_bytes, LIMITS.file_bytes))

    def blobs(self, repo: RepoRef, shas: Iterable[str], *, max_bytes: int) -> Iterator[tuple[str, bytes | None]]:
        """Yield blobs in the order of `shas`, read in parallel. The content is None above 10 MiB."""
        at = self._at(repo)

        def read(sha: str) -> tuple[str, bytes | None]:
            try:
                return sha, at.blob(sha, max_bytes=min(max_bytes, LIMITS.body_bytes))
            except TooLargeToRead:
                return sha, None

        return map_in_order(read, shas)

    def branch_lock(self, repo: RepoRef, branch: str) -> AbstractContextManager[None]:
        """Serialize the writers of one branch. Not re-entrant."""
        return self._lock(repo.name, branch)

    def commit(
        self,
        repo: RepoRef,
        branch: str,
        changes: Sequence[FileChange],
        message: str,
        *,
        expected_head: str,
        author: Person | None = None,
    ) -> Commit:
        return self._committing(self._at(repo), branch, author or self._bot).make(changes, message, expected_head)

    def commit_merge(
        self,
        repo: RepoRef,
        branch: str,
        changes: Sequence[FileChange],
        message: str,
        *,
        merged: str,
        expected_head: str,
        author: Person | None = None,
    ) -> Commit:
        """Bring the commit `merged` with `changes` into a branch."""
        require_shas(merged)
        writer = self._committing(self._at(repo), branch, author or self._bot)
        return writer.make(changes, message, expected_head, merged)

    def pull_requests(self, repo: RepoRef) -> Sequence[PullRequest]:
        return self._pulls(self._at(repo)).all()

    def create_pull_request(self, repo: RepoRef, *, title: str, head: str, base: str, body: str) -> PullRequest:
        """Create a proposal to merge `head` into `base`."""
        return self._pulls(self._at(repo)).create(title, head, base, body)

    def pull_request(self, repo: RepoRef, number: int) -> PullRequest:
        return self._pulls(self._at(repo)).one(number)

    def checks(self, repo: RepoRef, number: int) -> Checks:
        return self._pulls(self._at(repo)).checks(number)

    def merge_pull_request(
        self,
        repo: RepoRef,
        number: int,
        *,
        message: str | None = None,
        is_squash: bool = False,
        expected_head: str | None = None,
    ) -> Merged:
        return self._pulls(self._at(repo)).merge(number, MergeOptions(message, is_squash, expected_head))

    def _creation_error(self, at: Calls, fault: RequestRefused) -> DriverError:
        message_of_host = fault.message_of_host.lower()
        if any(text in message_of_host for text in self.TAKEN):
            return BranchExists("A branch of this name exists, or its name conflicts with another branch")
        at.facts()
        if any(text in message_of_host for text in self.UNKNOWN):
            return GitObjectMissing("The commit does not exist in the repository")
        return UpstreamRejected(f"The Git host did not create this branch: {fault.message_of_host}")


def _is_head(at: RepositoryCalls, branch: str, sha: str) -> bool:
    try:
        return at.head(branch) == sha
    except RepositoryUnavailable:
        return False
