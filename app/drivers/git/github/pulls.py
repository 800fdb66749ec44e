"""Pull requests of one repository of GitHub."""

from collections.abc import Sequence

from app.drivers.errors import DriverError, UpstreamRejected
from app.drivers.git.github import values
from app.drivers.git.github.calls import GitHubRepository
from app.drivers.git.pull_requests import Merged, NotMergeable, PullRequest, PullRequestExists, PullRequestState
from app.drivers.git.rest.calls import PAGE
from app.drivers.git.rest.responses import RequestRefused, is_outcome_unknown

NONE = "The pull request does not exist in the repository"


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
        body_sent = {"title": title, "head": head, "base": base, "body": body}
        try:
            return values.pull_request(self._repository.write("POST", "/pulls", body_sent))
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
        body_sent, _ = self._one(number)
        if body_sent.state is not PullRequestState.OPEN:
            raise NotMergeable("The pull request is already merged or closed")
        try:
            return Merged(values.sha(self._repository.write("PUT", f"/pulls/{number}/merge", {})), body_sent.base)
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
