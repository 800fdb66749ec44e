"""Repositories on GitHub, acting with one token; what it asks stands in the modules beside it."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager

from app.core.concurrency import map_in_order
from app.core.refs import is_branch_name
from app.core.retry import RetryOptions, retry
from app.drivers.errors import DriverError, Rejected
from app.drivers.git import github_values as values
from app.drivers.git.answers import Refusal, in_doubt
from app.drivers.git.github_calls import GitHubRepository, require_shas
from app.drivers.git.github_commit import GitHubCommit
from app.drivers.git.github_history import GitHubHistory
from app.drivers.git.github_pulls import GitHubPulls
from app.drivers.git.github_trees import GitHubTrees
from app.drivers.git.github_ways import Memory
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
    TreeEntry,
)
from app.drivers.git.pull_requests import PullRequest, PullRequests
from app.drivers.git.rest import RestClient, Shared, TokenSupplier
from app.drivers.git.turns import Turn, no_turn
from app.drivers.git.views import FOLDER
from app.drivers.http import LIMITS

HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}


class GitHubProvider(GitProvider, PullRequests):
    """GitHub at `api_url`, read and written with one supplier's tokens, committing as `bot`.

    `patience_s` bounds one call with its repetitions: 30 in a request, more in a job.
    """

    def __init__(
        self,
        api_url: str,
        token: TokenSupplier,
        *,
        bot: Person,
        shared: Shared | None = None,
        turn: Turn = no_turn,
        patience_s: float = LIMITS.deadline_s,
    ) -> None:
        self._client = RestClient(api_url, token, headers=HEADERS, shared=shared or Shared(), patience_s=patience_s)
        self._bot, self._turn, self._patience_s = bot, turn, patience_s
        self._memories: dict[str, Memory] = {}

    def repository(self, repo: RepoRef) -> Repository:
        """The repository's own facts."""
        return self._at(repo).facts()

    def branches(self, repo: RepoRef) -> Sequence[Branch]:
        """All branches, by name."""
        at = self._at(repo)
        default = at.facts().default_branch
        pages = at.pages("/branches", {}, missing="There is no such repository")
        return sorted(
            (values.branch(found, default) for page in pages for found in page), key=lambda b: b.name.encode()
        )

    def head(self, repo: RepoRef, branch: str) -> str:
        """The sha a branch is at."""
        return self._at(repo).head(branch)

    def create_branch(self, repo: RepoRef, name: str, sha: str) -> Branch:
        """Make a branch at a commit; one that was made although no answer came is recognised by its commit."""
        if not is_branch_name(name):
            raise Rejected("That cannot be the name of a branch", code="INVALID_BRANCH")
        require_shas(sha)
        at = self._at(repo)

        def attempt() -> None:
            try:
                at.write("POST", "/git/refs", {"ref": f"refs/heads/{name}", "sha": sha})
            except Refusal as fault:
                raise _not_created(at, fault) from fault
            except DriverError as failure:
                if not in_doubt(failure) or not _stands_at(at, name, sha):
                    raise

        retry(attempt, RetryOptions(passing=_is_in_doubt, deadline_s=self._patience_s))
        return Branch(name, sha, default=False, protected=False)

    def tree(self, repo: RepoRef, commit: str) -> Iterator[TreeEntry]:
        """Every file under a commit; a truncated answer is walked folder by folder."""
        return (entry for entry in GitHubTrees(self._at(repo)).whole(commit) if entry.type != FOLDER)

    def entries(self, repo: RepoRef, commit: str, paths: Sequence[str]) -> dict[str, TreeEntry]:
        """The named paths that exist at a commit."""
        view = GitHubTrees(self._at(repo)).view(commit, paths)
        found = {path: view.find(path) for path in paths}
        return {path: entry for path, entry in found.items() if entry is not None}

    def changes(self, repo: RepoRef, old: str, new: str) -> Iterator[PathChange]:
        """Every path that differs between two commits."""
        return GitHubTrees(self._at(repo)).changes(old, new)

    def is_ancestor(self, repo: RepoRef, ancestor: str, descendant: str) -> bool:
        """Whether `ancestor` is reachable from `descendant`."""
        return self._at(repo).is_ancestor(ancestor, descendant)

    def history(self, repo: RepoRef, new: str, *, since: str | None = None) -> Iterator[CommitInfo]:
        """Commits from `new` back to, without, `since`."""
        return GitHubHistory(self._at(repo)).between(new, since)

    def last_commit(self, repo: RepoRef, commit: str, path: str) -> CommitInfo:
        """The newest commit at or before `commit` that changed `path`."""
        return GitHubHistory(self._at(repo)).last(commit, path)

    def blob(self, repo: RepoRef, sha: str) -> bytes:
        """A blob's bytes, 10 MiB at most."""
        return self._at(repo).blob(sha)

    def blobs(self, repo: RepoRef, shas: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Many blobs, in the order asked for, a few at a time."""
        at = self._at(repo)
        return map_in_order(lambda sha: (sha, at.blob(sha)), shas)

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
        making = GitHubCommit(self._at(repo), branch, bot=self._bot, patience_s=self._patience_s)
        return making.make(changes, message, expected_head)

    def pull_requests(self, repo: RepoRef) -> Sequence[PullRequest]:
        """All of them, newest first, at most 100."""
        return GitHubPulls(self._at(repo)).all()

    def create_pull_request(self, repo: RepoRef, *, title: str, head: str, base: str, body: str) -> PullRequest:
        """Propose to merge `head` into `base`."""
        return GitHubPulls(self._at(repo)).create(title, head, base, body)

    def merge_pull_request(self, repo: RepoRef, number: int) -> str:
        """Merge it; returns the sha of the commit that did."""
        return GitHubPulls(self._at(repo)).merge(number)

    def _at(self, repo: RepoRef) -> GitHubRepository:
        return GitHubRepository(self._client, repo, self._memories.setdefault(repo.name, Memory()))


def _is_in_doubt(failure: Exception) -> bool:
    return isinstance(failure, DriverError) and in_doubt(failure)


def _stands_at(at: GitHubRepository, branch: str, sha: str) -> bool:
    try:
        return at.head(branch) == sha
    except RepositoryUnavailable:
        return False


def _not_created(at: GitHubRepository, fault: Refusal) -> DriverError:
    said = fault.said.lower()
    if "already exists" in said or "cannot lock ref" in said:
        return BranchExists("There is already a branch of that name, or one in its way")
    at.facts()
    if fault.status in (404, 422) and "object does not exist" in said:
        return ObjectNotFound("There is no such commit in the repository")
    return Rejected(f"The Git host does not make this branch: {fault.said}")
