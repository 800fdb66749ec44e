"""The Git provider for GitHub, with its pull requests."""

from collections.abc import Iterator, Sequence

from app.drivers.errors import DriverError, UpstreamRejected
from app.drivers.git.github import values
from app.drivers.git.github.calls import GitHubRepository, RepositoryCache, path_segments
from app.drivers.git.github.commit import GitHubCommit
from app.drivers.git.github.revisions import GitHubHistory, GitHubRevisions
from app.drivers.git.github.trees import GitHubTrees
from app.drivers.git.port import (
    Branch,
    Merged,
    NotMergeable,
    Person,
    PullRequest,
    PullRequestExists,
    PullRequestState,
    RepoRef,
)
from app.drivers.git.rest.calls import PAGE
from app.drivers.git.rest.client import RestClient, SharedState
from app.drivers.git.rest.provider import BranchLock, RestGitProvider, no_lock
from app.drivers.git.rest.responses import RequestRefused, is_outcome_unknown
from app.drivers.git.rest.revisions import RemoteRevisions
from app.drivers.git.rest.tokens import TokenSupplier
from app.drivers.http.client import LIMITS

NONE = "The pull request does not exist in the repository"
HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}


class GitHubPulls:
    """The pull requests of one repository."""

    def __init__(self, repository: GitHubRepository) -> None:
        self._repository = repository

    def all(self) -> Sequence[PullRequest]:
        """Return the newest 100, newest first."""
        params = {"state": "all", "sort": "created", "direction": "desc", "per_page": PAGE}
        return [values.pull_request(data) for data in self._repository.read("/pulls", params, missing=NONE)]

    def create(self, title: str, head: str, base: str, body: str) -> PullRequest:
        """Create a proposal to merge `head` into `base`. A proposal whose response was lost is looked up."""
        fields = {"title": title, "head": head, "base": base, "body": body}
        try:
            return values.pull_request(self._repository.write("POST", "/pulls", fields))
        except RequestRefused as fault:
            if "already exists" in fault.message_of_host:
                raise PullRequestExists("An open pull request of these branches already exists") from fault
            raise UpstreamRejected(f"The Git host rejected this pull request: {fault.message_of_host}") from fault
        except DriverError as failure:
            pull_request = self._open(head, base) if is_outcome_unknown(failure) else None
            if pull_request is None:
                raise
            return pull_request

    def merge(self, number: int) -> Merged:
        """Merge a pull request. After a lost response, read the state of the pull request."""
        pull_request, _ = self._one(number)
        if pull_request.state is not PullRequestState.OPEN:
            raise NotMergeable("The pull request is already merged or closed")
        try:
            return Merged(values.sha(self._repository.write("PUT", f"/pulls/{number}/merge", {})), pull_request.base)
        except RequestRefused as fault:
            raise NotMergeable(f"The pull request cannot be merged: {fault.message_of_host}") from fault
        except DriverError as failure:
            data, sha = self._one(number)
            if not is_outcome_unknown(failure) or data.state is not PullRequestState.MERGED or sha is None:
                raise
            return Merged(sha, data.base)

    def _one(self, number: int) -> tuple[PullRequest, str | None]:
        data = self._repository.read(f"/pulls/{number}", missing=NONE)
        return values.pull_request(data), data.get("merge_commit_sha")

    def _open(self, head: str, base: str) -> PullRequest | None:
        params = {"state": "open", "head": f"{self._repository.repo.name.partition('/')[0]}:{head}", "base": base}
        data = self._repository.read("/pulls", params, missing=NONE)
        if not data:
            return None
        return values.pull_request(data[0])


class GitHubProvider(RestGitProvider[GitHubRepository], RemoteRevisions):
    """GitHub at `api_url`. A truncated tree is completed folder by folder."""

    TAKEN = ("already exists", "cannot lock ref")
    UNKNOWN = ("object does not exist",)

    def __init__(
        self,
        api_url: str,
        token: TokenSupplier,
        *,
        bot: Person,
        shared: SharedState | None = None,
        lock: BranchLock = no_lock,
        deadline_s: float = LIMITS.deadline_s,
    ) -> None:
        client = RestClient(api_url, token, headers=HEADERS, shared=shared or SharedState(), deadline_s=deadline_s)
        super().__init__(client, bot=bot, lock=lock, deadline_s=deadline_s)
        self._memories: dict[str, RepositoryCache] = {}

    def _at(self, repo: RepoRef) -> GitHubRepository:
        return GitHubRepository(self._client, repo, self._memories.setdefault(repo.name, RepositoryCache()))

    def _trees(self, at: GitHubRepository) -> GitHubTrees:
        return GitHubTrees(at)

    def _history(self, at: GitHubRepository) -> GitHubHistory:
        return GitHubHistory(at)

    def _past(self, repo: RepoRef) -> GitHubRevisions:
        at = self._at(repo)
        return GitHubRevisions(at, lambda: self._branches(at))

    def _pulls(self, at: GitHubRepository) -> GitHubPulls:
        return GitHubPulls(at)

    def _committing(self, at: GitHubRepository, branch: str, author: Person) -> GitHubCommit:
        return GitHubCommit(at, branch, author=author, bot=self._bot, deadline_s=self._deadline_s)

    def _branches(self, at: GitHubRepository) -> Iterator[Branch]:
        default = at.facts().default_branch
        pages = at.pages("/branches", {}, missing="The repository does not exist")
        return (values.branch(data, default) for page in pages for data in page)

    def _remove_branch(self, at: GitHubRepository, name: str) -> None:
        at.remove(f"/git/refs/heads/{path_segments(name)}")

    def _make_branch(self, at: GitHubRepository, name: str, sha: str) -> Branch:
        at.write("POST", "/git/refs", {"ref": f"refs/heads/{name}", "sha": sha})
        return Branch(name, sha, default=False, protected=False)
