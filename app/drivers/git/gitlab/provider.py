"""The Git provider for GitLab, with its merge requests."""

from collections.abc import Iterator, Sequence
from typing import Any

from app.drivers.errors import DriverError, UpstreamRejected
from app.drivers.git.gitlab import values
from app.drivers.git.gitlab.calls import GitLabProject
from app.drivers.git.gitlab.commit import GitLabCommit
from app.drivers.git.gitlab.revisions import GitLabRevisions
from app.drivers.git.gitlab.trees import GitLabHistory, GitLabTrees
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
from app.drivers.git.rest.client import RestClient, SharedState, segment
from app.drivers.git.rest.provider import BranchLock, RestGitProvider, no_lock
from app.drivers.git.rest.responses import RequestRefused, is_outcome_unknown, parses
from app.drivers.git.rest.revisions import RemoteRevisions
from app.drivers.git.rest.tokens import TokenSupplier
from app.drivers.http.client import LIMITS

NONE = "The merge request does not exist in the repository"
API = "/api/v4"
HEADERS = {"Accept": "application/json"}


class GitLabMerges:
    """The merge requests of one project."""

    def __init__(self, project: GitLabProject) -> None:
        self._project = project

    def all(self) -> Sequence[PullRequest]:
        """Return the newest 100, newest first."""
        params = {"state": "all", "order_by": "created_at", "sort": "desc", "per_page": PAGE}
        return [values.merge_request(data) for data in self._project.read("/merge_requests", params, missing=NONE)]

    def create(self, title: str, head: str, base: str, body: str) -> PullRequest:
        """Create a proposal to merge `head` into `base`. A proposal whose response was lost is looked up."""
        request = {"title": title, "source_branch": head, "target_branch": base, "description": body}
        for branch in (head, base):
            self._project.head(branch)  # GitLab accepts a merge request of branches that do not exist
        try:
            return values.merge_request(self._project.write("POST", "/merge_requests", request))
        except RequestRefused as fault:
            if fault.status == 409:
                raise PullRequestExists("An open merge request of these branches already exists") from fault
            raise UpstreamRejected(f"The Git host rejected this merge request: {fault.message_of_host}") from fault
        except DriverError as failure:
            merge_request = self._open(head, base) if is_outcome_unknown(failure) else None
            if merge_request is None:
                raise
            return merge_request

    def merge(self, number: int) -> Merged:
        """Merge a pull request. After a lost response, read the state of the pull request."""
        request = values.merge_request(self._one(number))
        if request.state is not PullRequestState.OPEN:
            raise NotMergeable("The merge request is already merged or closed")
        try:
            return Merged(_merge_sha(self._project.write("PUT", f"/merge_requests/{number}/merge", {})), request.base)
        except RequestRefused as fault:
            raise NotMergeable(f"The merge request cannot be merged: {fault.message_of_host}") from fault
        except DriverError as failure:
            data = self._one(number)
            if not is_outcome_unknown(failure) or values.merge_request(data).state is not PullRequestState.MERGED:
                raise
            return Merged(_merge_sha(data), request.base)

    def _one(self, number: int) -> dict[str, object]:
        data: dict[str, object] = self._project.read(f"/merge_requests/{number}", missing=NONE)
        return data

    def _open(self, head: str, base: str) -> PullRequest | None:
        params = {"state": "opened", "source_branch": head, "target_branch": base}
        data = self._project.read("/merge_requests", params, missing=NONE)
        return values.merge_request(data[0]) if data else None


@parses
def _merge_sha(data: dict[str, Any]) -> str:
    """Return the merge commit, the squash commit or the head of a fast-forward."""
    return str(data.get("merge_commit_sha") or data.get("squash_commit_sha") or data["sha"])


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
        return GitLabMerges(at)

    def _committing(self, at: GitLabProject, branch: str, author: Person) -> GitLabCommit:
        return GitLabCommit(at, branch, author=author, deadline_s=self._deadline_s)

    def _branches(self, at: GitLabProject) -> Iterator[Branch]:
        pages = at.pages("/repository/branches", {}, missing="The repository does not exist")
        return (values.branch(data) for page in pages for data in page)

    def _remove_branch(self, at: GitLabProject, name: str) -> None:
        at.remove(f"/repository/branches/{segment(name)}")

    def _make_branch(self, at: GitLabProject, name: str, sha: str) -> Branch:
        return values.branch(at.write("POST", "/repository/branches", {"branch": name, "ref": sha}))
