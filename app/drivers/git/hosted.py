"""Repositories on a host with a REST API, acting with one token: what such hosts share of the port."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import ClassVar, Generic, Protocol, TypeVar

from app.core.concurrency import map_in_order
from app.core.refs import is_branch_name
from app.core.retry import RetryOptions, retry
from app.drivers.errors import DriverError, Rejected
from app.drivers.git.answers import Refusal, in_doubt
from app.drivers.git.hosted_calls import RepositoryCalls
from app.drivers.git.objects import require_shas
from app.drivers.git.port import (
    Branch,
    BranchExists,
    Commit,
    CommitInfo,
    FileChange,
    GitProvider,
    ObjectNotFound,
    PathChange,
    Person,
    RepoRef,
    Repository,
    RepositoryUnavailable,
    TooLargeToRead,
    TreeEntry,
)
from app.drivers.git.pull_requests import Merged, PullRequest, PullRequests
from app.drivers.git.rest import RestClient
from app.drivers.git.turns import Turn
from app.drivers.git.views import FOLDER
from app.drivers.http import LIMITS

Calls = TypeVar("Calls", bound=RepositoryCalls)


class Trees(Protocol):
    """The trees of one repository."""

    def whole(self, commit: str) -> list[TreeEntry]:
        """Everything under a commit, folders too."""

    def entries(self, commit: str, paths: Sequence[str]) -> dict[str, TreeEntry]:
        """The named paths that exist at a commit."""

    def changes(self, old: str, new: str) -> Iterator[PathChange]:
        """Every path that differs between two commits."""


class History(Protocol):
    """The commits of one repository."""

    def between(self, new: str, since: str | None) -> Iterator[CommitInfo]:
        """The commits from `new` back to, without, `since`, newest first."""

    def last(self, commit: str, path: str) -> CommitInfo:
        """The newest commit at or before `commit` that changed `path`."""


class Pulls(Protocol):
    """The pull requests of one repository."""

    def all(self) -> Sequence[PullRequest]:
        """The newest 100, newest first."""

    def create(self, title: str, head: str, base: str, body: str) -> PullRequest:
        """Propose to merge `head` into `base`."""

    def merge(self, number: int) -> Merged:
        """Merge one."""


class Committing(Protocol):
    """Commits on one branch."""

    def make(self, changes: Sequence[FileChange], message: str, expected_head: str) -> Commit:
        """See `GitProvider.commit`."""


class HostedProvider(GitProvider, PullRequests, Generic[Calls]):
    """A host, read and written with one supplier's tokens, committing as `bot`; what differs between hosts is abstract.

    `patience_s` bounds one call with its repetitions: 30 in a request, more in a job.
    """

    TAKEN: ClassVar[tuple[str, ...]]
    """What the host says, in lower case, of a branch whose name is taken or in the way of another."""
    UNKNOWN: ClassVar[tuple[str, ...]]
    """What it says of a commit that is not there."""

    def __init__(self, client: RestClient, *, bot: Person, turn: Turn, patience_s: float) -> None:
        self._client, self._bot, self._turn, self._patience_s = client, bot, turn, patience_s

    @abstractmethod
    def _at(self, repo: RepoRef) -> Calls:
        """Calls on the repository."""

    @abstractmethod
    def _trees(self, at: Calls) -> Trees: ...

    @abstractmethod
    def _history(self, at: Calls) -> History: ...

    @abstractmethod
    def _pulls(self, at: Calls) -> Pulls: ...

    @abstractmethod
    def _committing(self, at: Calls, branch: str) -> Committing: ...

    @abstractmethod
    def _branches(self, at: Calls) -> Iterator[Branch]:
        """All branches, in whatever order."""

    @abstractmethod
    def _make_branch(self, at: Calls, name: str, sha: str) -> Branch:
        """Make a branch. Raises Refusal."""

    def repository(self, repo: RepoRef) -> Repository:
        """The repository's own facts."""
        return self._at(repo).facts()

    def branches(self, repo: RepoRef) -> Sequence[Branch]:
        """All branches, by name."""
        return sorted(self._branches(self._at(repo)), key=lambda branch: branch.name.encode())

    def head(self, repo: RepoRef, branch: str) -> str:
        """The sha a branch is at."""
        return self._at(repo).head(branch)

    def create_branch(self, repo: RepoRef, name: str, sha: str) -> Branch:
        """Make a branch at a commit; one that was made although no answer came is recognised by its commit."""
        if not is_branch_name(name):
            raise Rejected("That cannot be the name of a branch", code="INVALID_BRANCH")
        require_shas(sha)
        at = self._at(repo)

        def attempt() -> Branch:
            try:
                return self._make_branch(at, name, sha)
            except Refusal as fault:
                raise self._not_made(at, fault) from fault
            except DriverError as failure:
                if not in_doubt(failure) or not _stands_at(at, name, sha):
                    raise
                return Branch(name, sha, default=False, protected=False)

        return retry(attempt, RetryOptions(passing=in_doubt, deadline_s=self._patience_s))

    def tree(self, repo: RepoRef, commit: str) -> Iterator[TreeEntry]:
        """Every file under a commit."""
        return (entry for entry in self._trees(self._at(repo)).whole(commit) if entry.type != FOLDER)

    def entries(self, repo: RepoRef, commit: str, paths: Sequence[str]) -> dict[str, TreeEntry]:
        """The named paths that exist at a commit."""
        return self._trees(self._at(repo)).entries(commit, paths)

    def changes(self, repo: RepoRef, old: str, new: str) -> Iterator[PathChange]:
        """Every path that differs between two commits."""
        return self._trees(self._at(repo)).changes(old, new)

    def is_ancestor(self, repo: RepoRef, ancestor: str, descendant: str) -> bool:
        """Whether `ancestor` is reachable from `descendant`."""
        return self._at(repo).is_ancestor(ancestor, descendant)

    def history(self, repo: RepoRef, new: str, *, since: str | None = None) -> Iterator[CommitInfo]:
        """Commits from `new` back to, without, `since`."""
        return self._history(self._at(repo)).between(new, since)

    def last_commit(self, repo: RepoRef, commit: str, path: str) -> CommitInfo:
        """The newest commit at or before `commit` that changed `path`."""
        return self._history(self._at(repo)).last(commit, path)

    def blob(self, repo: RepoRef, sha: str) -> bytes:
        """A blob's bytes, 25 MiB at most."""
        return self._at(repo).blob(sha, max_bytes=LIMITS.file_bytes)

    def blobs(self, repo: RepoRef, shas: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Many blobs, in the order asked for, a few at a time; None for those of more than 10 MiB."""
        at = self._at(repo)

        def read(sha: str) -> tuple[str, bytes | None]:
            try:
                return sha, at.blob(sha, max_bytes=LIMITS.body_bytes)
            except TooLargeToRead:
                return sha, None

        return map_in_order(read, shas)

    def content(self, repo: RepoRef, commit: str, path: str) -> bytes:
        """The bytes of the file at a path."""
        return self._at(repo).content(commit, path)

    def writing(self, repo: RepoRef, branch: str) -> AbstractContextManager[None]:
        """Hold while reading a head and committing on it. Not re-entrant."""
        return self._turn(repo.name, branch)

    def commit(
        self, repo: RepoRef, branch: str, changes: Sequence[FileChange], message: str, *, expected_head: str
    ) -> Commit:
        """Write all `changes` as one commit by the bot."""
        return self._committing(self._at(repo), branch).make(changes, message, expected_head)

    def pull_requests(self, repo: RepoRef) -> Sequence[PullRequest]:
        """All of them, newest first, at most 100."""
        return self._pulls(self._at(repo)).all()

    def create_pull_request(self, repo: RepoRef, *, title: str, head: str, base: str, body: str) -> PullRequest:
        """Propose to merge `head` into `base`."""
        return self._pulls(self._at(repo)).create(title, head, base, body)

    def merge_pull_request(self, repo: RepoRef, number: int) -> Merged:
        """Merge it."""
        return self._pulls(self._at(repo)).merge(number)

    def _not_made(self, at: Calls, fault: Refusal) -> DriverError:
        said = fault.said.lower()
        if any(words in said for words in self.TAKEN):
            return BranchExists("There is already a branch of that name, or one in its way")
        at.facts()
        if any(words in said for words in self.UNKNOWN):
            return ObjectNotFound("There is no such commit in the repository")
        return Rejected(f"The Git host does not make this branch: {fault.said}")


def _stands_at(at: RepositoryCalls, branch: str, sha: str) -> bool:
    try:
        return at.head(branch) == sha
    except RepositoryUnavailable:
        return False
