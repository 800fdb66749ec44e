"""The repositories of GitLab."""

from collections.abc import Iterator

from app.drivers.git.gitlab import values
from app.drivers.git.gitlab.commit import GitLabCommit
from app.drivers.git.gitlab.merge_requests import GitLabMerges
from app.drivers.git.gitlab.revisions import GitLabRevisions
from app.drivers.git.port import Branch, Capabilities, Person, RepoRef
from app.drivers.git.rest.client import RestClient, SharedState, segment
from app.drivers.git.rest.provider import BranchLock, no_lock
from app.drivers.git.rest.tokens import TokenSupplier
from app.drivers.http.client import LIMITS

CAPABILITIES = Capabilities(revokes_refresh_tokens=True)
API = "/api/v4"
HEADERS = {"Accept": "application/json"}


class GitLabRepository(GitLabRevisions, GitLabMerges):
    """A project of GitLab at `url`.

    Its trees contain no sizes. A push to other files during a commit becomes the parent of the commit.
    """

    TAKEN = ("already exists", "failed to create branch")
    UNKNOWN = ("invalid reference",)

    def __init__(
        self,
        url: str,
        repo: RepoRef,
        token: TokenSupplier,
        *,
        bot: Person,
        shared: SharedState | None = None,
        lock: BranchLock = no_lock,
        deadline_s: float = LIMITS.deadline_s,
    ) -> None:
        base_url = url.rstrip("/") + API
        client = RestClient(base_url, token, headers=HEADERS, shared=shared or SharedState(), deadline_s=deadline_s)
        super().__init__(client, repo, bot=bot, lock=lock, deadline_s=deadline_s)

    def _writer(self, branch: str, author: Person) -> GitLabCommit:
        return GitLabCommit(self, branch, author=author, deadline_s=self._deadline_s)

    def _branches(self) -> Iterator[Branch]:
        pages = self.pages("/repository/branches", {}, missing="The repository does not exist")
        return (values.branch(data) for page in pages for data in page)

    def _remove_branch(self, name: str) -> None:
        self.remove(f"/repository/branches/{segment(name)}")

    def _make_branch(self, name: str, sha: str) -> Branch:
        return values.branch(self.write("POST", "/repository/branches", {"branch": name, "ref": sha}))
