"""The base class of repositories of hosts with a REST API."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import ClassVar, Protocol

from app.concurrency.bounded import map_in_order
from app.core.refs import is_branch_name
from app.core.retry import RetryOptions, retry
from app.drivers.errors import DriverError, UpstreamRejected
from app.drivers.git.errors import BranchExists, BranchMoved, GitObjectMissing, RepositoryUnavailable, TooLargeToRead
from app.drivers.git.local.locks import exclusive_lock
from app.drivers.git.object_ids import require_shas
from app.drivers.git.port import (
    Branch,
    Commit,
    FileChange,
    Person,
    RepoRef,
    Repository,
    TreeEntry,
)
from app.drivers.git.rest.client import RestClient
from app.drivers.git.rest.pull_requests import RemotePullRequests
from app.drivers.git.rest.responses import RequestRefused, is_outcome_unknown
from app.drivers.git.rest.revisions import RemoteRevisions
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


class CommitWriter(Protocol):
    """The writer of commits on one branch."""

    def make(
        self, changes: Sequence[FileChange], message: str, expected_head: str, merged: str | None = None
    ) -> Commit:
        """Make a commit. See `Repository.commit`, and `Repository.commit_merge` for `merged`."""


class RemoteRepository(RemotePullRequests, RemoteRevisions, Repository):
    """A repository of a host with a REST API. The methods that differ between hosts are abstract.

    `deadline_s` bounds one call with its retries: 30 in a request, more in a job.
    """

    TAKEN: ClassVar[tuple[str, ...]]
    """Messages of the host (lower case) for a branch name that exists or conflicts with another branch."""
    UNKNOWN: ClassVar[tuple[str, ...]]
    """Message of the host for a missing commit."""

    def __init__(self, client: RestClient, repo: RepoRef, *, bot: Person, lock: BranchLock, deadline_s: float) -> None:
        super().__init__(client, repo, deadline_s)
        self._bot, self._lock = bot, lock

    @abstractmethod
    def full_tree(self, commit: str) -> list[TreeEntry]:
        """Return all entries of a commit, folders included."""

    @abstractmethod
    def _branches(self) -> Iterator[Branch]:
        """Yield all branches in any order."""

    @abstractmethod
    def _make_branch(self, name: str, sha: str) -> Branch:
        """Create a branch. Raises RequestRefused."""

    @abstractmethod
    def _remove_branch(self, name: str) -> None:
        """Delete a branch. Raises RequestRefused."""

    @abstractmethod
    def _writer(self, branch: str, author: Person) -> CommitWriter:
        """Return the writer of commits on a branch."""

    def branches(self) -> Sequence[Branch]:
        return sorted(self._branches(), key=lambda branch: branch.name.encode())

    def create_branch(self, name: str, sha: str) -> Branch:
        """Create a branch at a commit. A branch whose response was lost is recognized by its commit."""
        if not is_branch_name(name):
            raise UpstreamRejected("The branch name is invalid", code="INVALID_BRANCH")
        require_shas(sha)

        def attempt() -> Branch:
            try:
                return self._make_branch(name, sha)
            except RequestRefused as fault:
                raise self._creation_error(fault) from fault
            except DriverError as failure:
                if not is_outcome_unknown(failure) or not self._is_head(name, sha):
                    raise
                return Branch(name, sha, default=False, protected=False)

        return retry(attempt, RetryOptions(is_transient=is_outcome_unknown, deadline_s=self._deadline_s))

    def delete_branch(self, name: str, *, expected_head: str | None = None) -> None:
        """Delete a branch. If a first call without a response had its effect, the second one is successful."""
        head = self.find_head(name)
        if head is None:
            raise GitObjectMissing("The branch does not exist in the repository")
        if expected_head not in (None, head):
            raise BranchMoved("The branch has moved since it was read")
        try:
            self._remove_branch(name)
        except RequestRefused as fault:
            if self.find_head(name) is None:
                return
            raise UpstreamRejected(
                f"The Git host did not delete this branch: {fault.message_of_host}", code="BRANCH_PROTECTED"
            ) from fault

    def tree(self, commit: str) -> Iterator[TreeEntry]:
        return (entry for entry in self.full_tree(commit) if entry.type != FOLDER)

    def blobs(self, shas: Iterable[str], *, max_bytes: int) -> Iterator[tuple[str, bytes | None]]:
        """Yield blobs in the order of `shas`, read in parallel. The content is None above 10 MiB."""

        def read(sha: str) -> tuple[str, bytes | None]:
            try:
                return sha, self.blob(sha, max_bytes=min(max_bytes, LIMITS.body_bytes))
            except TooLargeToRead:
                return sha, None

        return map_in_order(read, shas)

    def branch_lock(self, branch: str) -> AbstractContextManager[None]:
        """Serialize the writers of one branch. Not re-entrant."""
        return self._lock(self.repo.name, branch)

    def commit(
        self,
        branch: str,
        changes: Sequence[FileChange],
        message: str,
        *,
        expected_head: str,
        author: Person | None = None,
    ) -> Commit:
        return self._writer(branch, author or self._bot).make(changes, message, expected_head)

    def commit_merge(
        self,
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
        writer = self._writer(branch, author or self._bot)
        return writer.make(changes, message, expected_head, merged)

    def _creation_error(self, fault: RequestRefused) -> DriverError:
        message_of_host = fault.message_of_host.lower()
        if any(text in message_of_host for text in self.TAKEN):
            return BranchExists("A branch of this name exists, or its name conflicts with another branch")
        self.facts()
        if any(text in message_of_host for text in self.UNKNOWN):
            return GitObjectMissing("The commit does not exist in the repository")
        return UpstreamRejected(f"The Git host did not create this branch: {fault.message_of_host}")

    def _is_head(self, branch: str, sha: str) -> bool:
        try:
            return self.head(branch) == sha
        except RepositoryUnavailable:
            return False
