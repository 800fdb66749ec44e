"""The repositories of GitHub."""

from collections.abc import Iterator

from app.drivers.git.github import values
from app.drivers.git.github.calls import RepositoryCache, path_segments
from app.drivers.git.github.commit import GitHubCommit
from app.drivers.git.github.pull_requests import GitHubPulls
from app.drivers.git.github.revisions import GitHubRevisions
from app.drivers.git.port import Branch, Capabilities, Person, RepoRef
from app.drivers.git.rest.client import RestClient, SharedState
from app.drivers.git.rest.provider import BranchLock, no_lock
from app.drivers.git.rest.tokens import TokenSupplier
from app.drivers.http.client import LIMITS

CAPABILITIES = Capabilities(commits_blobs=True, installations=True)
HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}


class GitHubRepository(GitHubRevisions, GitHubPulls):
    """A repository of GitHub at `api_url`. A truncated tree is completed folder by folder."""

    TAKEN = ("already exists", "cannot lock ref")
    UNKNOWN = ("object does not exist",)

    def __init__(
        self,
        api_url: str,
        repo: RepoRef,
        token: TokenSupplier,
        *,
        bot: Person,
        shared: SharedState | None = None,
        lock: BranchLock = no_lock,
        deadline_s: float = LIMITS.deadline_s,
    ) -> None:
        client = RestClient(api_url, token, headers=HEADERS, shared=shared or SharedState(), deadline_s=deadline_s)
        super().__init__(client, repo, bot=bot, lock=lock, deadline_s=deadline_s)
        self.memory = RepositoryCache()

    def _writer(self, branch: str, author: Person) -> GitHubCommit:
        return GitHubCommit(self, branch, author=author, bot=self._bot, deadline_s=self._deadline_s)

    def _branches(self) -> Iterator[Branch]:
        default = self.facts().default_branch
        pages = self.pages("/branches", {}, missing="The repository does not exist")
        return (values.branch(data, default) for page in pages for data in page)

    def _remove_branch(self, name: str) -> None:
        self.remove(f"/git/refs/heads/{path_segments(name)}")

    def _make_branch(self, name: str, sha: str) -> Branch:
        self.write("POST", "/git/refs", {"ref": f"refs/heads/{name}", "sha": sha})
        return Branch(name, sha, default=False, protected=False)
