"""The Git provider for GitHub."""

from collections.abc import Iterator

from app.drivers.git.github import values
from app.drivers.git.github.calls import GitHubRepository, RepositoryCache, path_segments
from app.drivers.git.github.commit import GitHubCommit
from app.drivers.git.github.pull_requests import GitHubPulls
from app.drivers.git.github.revisions import GitHubHistory, GitHubRevisions
from app.drivers.git.github.trees import GitHubTrees
from app.drivers.git.port import Branch, Capabilities, Person, RepoRef
from app.drivers.git.rest.client import RestClient, SharedState
from app.drivers.git.rest.provider import BranchLock, RestGitProvider, no_lock
from app.drivers.git.rest.revisions import RemoteRevisions
from app.drivers.git.rest.tokens import TokenSupplier
from app.drivers.http.client import LIMITS

CAPABILITIES = Capabilities(installations=True)
HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}


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
        return GitHubPulls(at, deadline_s=self._deadline_s)

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
