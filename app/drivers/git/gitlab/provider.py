"""The Git provider for GitLab."""

from collections.abc import Iterator

from app.drivers.git.gitlab import values
from app.drivers.git.gitlab.calls import GitLabProject
from app.drivers.git.gitlab.commit import GitLabCommit
from app.drivers.git.gitlab.merge_requests import GitLabMerges
from app.drivers.git.gitlab.revisions import GitLabRevisions
from app.drivers.git.gitlab.trees import GitLabHistory, GitLabTrees
from app.drivers.git.port import Branch, Capabilities, Person, RepoRef
from app.drivers.git.rest.client import RestClient, SharedState, segment
from app.drivers.git.rest.provider import BranchLock, RestGitProvider, no_lock
from app.drivers.git.rest.revisions import RemoteRevisions
from app.drivers.git.rest.tokens import TokenSupplier
from app.drivers.http.client import LIMITS

CAPABILITIES = Capabilities(revokes_refresh_tokens=True)
API = "/api/v4"
HEADERS = {"Accept": "application/json"}


class GitLabProvider(RestGitProvider[GitLabProject], RemoteRevisions):
    """GitLab at `url`.

    Its trees contain no sizes. A push to other files during a commit becomes the parent of the commit.
    """

    TAKEN = ("already exists", "failed to create branch")
    UNKNOWN = ("invalid reference",)

    def __init__(
        self,
        url: str,
        token: TokenSupplier,
        *,
        bot: Person,
        shared: SharedState | None = None,
        lock: BranchLock = no_lock,
        deadline_s: float = LIMITS.deadline_s,
    ) -> None:
        base_url = url.rstrip("/") + API
        client = RestClient(base_url, token, headers=HEADERS, shared=shared or SharedState(), deadline_s=deadline_s)
        super().__init__(client, bot=bot, lock=lock, deadline_s=deadline_s)

    def _at(self, repo: RepoRef) -> GitLabProject:
        return GitLabProject(self._client, repo)

    def _trees(self, at: GitLabProject) -> GitLabTrees:
        return GitLabTrees(at)

    def _history(self, at: GitLabProject) -> GitLabHistory:
        return GitLabHistory(at)

    def _past(self, repo: RepoRef) -> GitLabRevisions:
        return GitLabRevisions(self._at(repo))

    def _pulls(self, at: GitLabProject) -> GitLabMerges:
        return GitLabMerges(at, deadline_s=self._deadline_s)

    def _committing(self, at: GitLabProject, branch: str, author: Person) -> GitLabCommit:
        return GitLabCommit(at, branch, author=author, deadline_s=self._deadline_s)

    def _branches(self, at: GitLabProject) -> Iterator[Branch]:
        pages = at.pages("/repository/branches", {}, missing="The repository does not exist")
        return (values.branch(data) for page in pages for data in page)

    def _remove_branch(self, at: GitLabProject, name: str) -> None:
        at.remove(f"/repository/branches/{segment(name)}")

    def _make_branch(self, at: GitLabProject, name: str, sha: str) -> Branch:
        return values.branch(at.write("POST", "/repository/branches", {"branch": name, "ref": sha}))
