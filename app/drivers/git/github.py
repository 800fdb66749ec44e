"""Repositories on GitHub, acting with one token; what it asks stands in the modules beside it."""

from collections.abc import Iterator

from app.drivers.git import github_values as values
from app.drivers.git.github_calls import GitHubRepository
from app.drivers.git.github_commit import GitHubCommit
from app.drivers.git.github_history import GitHubHistory
from app.drivers.git.github_pulls import GitHubPulls
from app.drivers.git.github_trees import GitHubTrees
from app.drivers.git.github_ways import Memory
from app.drivers.git.hosted import HostedProvider
from app.drivers.git.port import Branch, Person, RepoRef
from app.drivers.git.rest import RestClient, Shared, TokenSupplier
from app.drivers.git.turns import Turn, no_turn
from app.drivers.http import LIMITS

HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}


class GitHubProvider(HostedProvider[GitHubRepository]):
    """GitHub at `api_url`; a truncated answer for a tree is walked folder by folder."""

    TAKEN = ("already exists", "cannot lock ref")
    UNKNOWN = ("object does not exist",)

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
        client = RestClient(api_url, token, headers=HEADERS, shared=shared or Shared(), patience_s=patience_s)
        super().__init__(client, bot=bot, turn=turn, patience_s=patience_s)
        self._memories: dict[str, Memory] = {}

    def _at(self, repo: RepoRef) -> GitHubRepository:
        return GitHubRepository(self._client, repo, self._memories.setdefault(repo.name, Memory()))

    def _trees(self, at: GitHubRepository) -> GitHubTrees:
        return GitHubTrees(at)

    def _history(self, at: GitHubRepository) -> GitHubHistory:
        return GitHubHistory(at)

    def _pulls(self, at: GitHubRepository) -> GitHubPulls:
        return GitHubPulls(at)

    def _committing(self, at: GitHubRepository, branch: str) -> GitHubCommit:
        return GitHubCommit(at, branch, bot=self._bot, patience_s=self._patience_s)

    def _branches(self, at: GitHubRepository) -> Iterator[Branch]:
        default = at.facts().default_branch
        pages = at.pages("/branches", {}, missing="There is no such repository")
        return (values.branch(found, default) for page in pages for found in page)

    def _make_branch(self, at: GitHubRepository, name: str, sha: str) -> Branch:
        at.write("POST", "/git/refs", {"ref": f"refs/heads/{name}", "sha": sha})
        return Branch(name, sha, default=False, protected=False)
