"""Repositories on GitLab, acting with one token; what it asks stands in the modules beside it."""

from collections.abc import Iterator

from app.drivers.git import gitlab_values as values
from app.drivers.git.gitlab_calls import GitLabProject
from app.drivers.git.gitlab_commit import GitLabCommit
from app.drivers.git.gitlab_history import GitLabHistory
from app.drivers.git.gitlab_merges import GitLabMerges
from app.drivers.git.gitlab_trees import GitLabTrees
from app.drivers.git.hosted import HostedProvider
from app.drivers.git.port import Branch, Person, RepoRef
from app.drivers.git.rest import RestClient, Shared, TokenSupplier
from app.drivers.git.turns import Turn, no_turn
from app.drivers.http import LIMITS

API = "/api/v4"
HEADERS = {"Accept": "application/json"}


class GitLabProvider(HostedProvider[GitLabProject]):
    """GitLab at `url`; its trees tell no sizes, and a push to other files amid a commit becomes the commit's parent."""

    TAKEN = ("already exists", "failed to create branch")
    UNKNOWN = ("invalid reference",)

    def __init__(
        self,
        url: str,
        token: TokenSupplier,
        *,
        bot: Person,
        shared: Shared | None = None,
        turn: Turn = no_turn,
        patience_s: float = LIMITS.deadline_s,
    ) -> None:
        base_url = url.rstrip("/") + API
        client = RestClient(base_url, token, headers=HEADERS, shared=shared or Shared(), patience_s=patience_s)
        super().__init__(client, bot=bot, turn=turn, patience_s=patience_s)

    def _at(self, repo: RepoRef) -> GitLabProject:
        return GitLabProject(self._client, repo)

    def _trees(self, at: GitLabProject) -> GitLabTrees:
        return GitLabTrees(at)

    def _history(self, at: GitLabProject) -> GitLabHistory:
        return GitLabHistory(at)

    def _pulls(self, at: GitLabProject) -> GitLabMerges:
        return GitLabMerges(at)

    def _committing(self, at: GitLabProject, branch: str) -> GitLabCommit:
        return GitLabCommit(at, branch, bot=self._bot, patience_s=self._patience_s)

    def _branches(self, at: GitLabProject) -> Iterator[Branch]:
        pages = at.pages("/repository/branches", {}, missing="There is no such repository")
        return (values.branch(found) for page in pages for found in page)

    def _make_branch(self, at: GitLabProject, name: str, sha: str) -> Branch:
        return values.branch(at.write("POST", "/repository/branches", {"branch": name, "ref": sha}))
