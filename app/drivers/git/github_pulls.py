"""Pull requests of one repository of GitHub."""

from collections.abc import Sequence

from app.drivers.errors import DriverError, Rejected
from app.drivers.git import github_values as values
from app.drivers.git.answers import Refusal, in_doubt
from app.drivers.git.github_calls import GitHubRepository
from app.drivers.git.hosted_calls import PAGE
from app.drivers.git.pull_requests import Merged, NotMergeable, PullRequest, PullRequestExists, PullRequestState

NONE = "There is no such pull request in the repository"


class GitHubPulls:
    """The pull requests of one repository."""

    def __init__(self, repository: GitHubRepository) -> None:
        self._repository = repository

    def all(self) -> Sequence[PullRequest]:
        """The newest 100, newest first."""
        params = {"state": "all", "sort": "created", "direction": "desc", "per_page": PAGE}
        return [values.pull_request(found) for found in self._repository.read("/pulls", params, missing=NONE)]

    def create(self, title: str, head: str, base: str, body: str) -> PullRequest:
        """Propose to merge `head` into `base`; one that was made although no answer came is found again."""
        asked = {"title": title, "head": head, "base": base, "body": body}
        try:
            return values.pull_request(self._repository.write("POST", "/pulls", asked))
        except Refusal as fault:
            if "already exists" in fault.said:
                raise PullRequestExists("There is already an open pull request of these branches") from fault
            raise Rejected(f"The Git host does not take this pull request: {fault.said}") from fault
        except DriverError as failure:
            made = self._open(head, base) if in_doubt(failure) else None
            if made is None:
                raise
            return made

    def merge(self, number: int) -> Merged:
        """Merge one; a merge that happened although no answer came is found again."""
        asked, _ = self._one(number)
        if asked.state is not PullRequestState.OPEN:
            raise NotMergeable("The pull request is merged or closed already")
        try:
            return Merged(values.sha(self._repository.write("PUT", f"/pulls/{number}/merge", {})), asked.base)
        except Refusal as fault:
            raise NotMergeable(f"The pull request cannot be merged: {fault.said}") from fault
        except DriverError as failure:
            found, sha = self._one(number)
            if not in_doubt(failure) or found.state is not PullRequestState.MERGED or sha is None:
                raise
            return Merged(sha, found.base)

    def _one(self, number: int) -> tuple[PullRequest, str | None]:
        found = self._repository.read(f"/pulls/{number}", missing=NONE)
        return values.pull_request(found), found.get("merge_commit_sha")

    def _open(self, head: str, base: str) -> PullRequest | None:
        params = {"state": "open", "head": f"{self._repository.repo.name.partition('/')[0]}:{head}", "base": base}
        found = self._repository.read("/pulls", params, missing=NONE)
        if not found:
            return None
        return values.pull_request(found[0])
