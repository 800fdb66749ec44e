"""Merge requests of one project of GitLab."""

from collections.abc import Sequence
from typing import Any

from app.drivers.errors import DriverError, UpstreamRejected
from app.drivers.git.gitlab import values
from app.drivers.git.gitlab.calls import GitLabProject
from app.drivers.git.pull_requests import Merged, NotMergeable, PullRequest, PullRequestExists, PullRequestState
from app.drivers.git.rest.calls import PAGE
from app.drivers.git.rest.responses import RequestRefused, is_outcome_unknown, parses

NONE = "The merge request does not exist in the repository"


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

    def _one(self, number: int) -> dict[str, Any]:
        data: dict[str, Any] = self._project.read(f"/merge_requests/{number}", missing=NONE)
        return data

    def _open(self, head: str, base: str) -> PullRequest | None:
        params = {"state": "opened", "source_branch": head, "target_branch": base}
        data = self._project.read("/merge_requests", params, missing=NONE)
        return values.merge_request(data[0]) if data else None


@parses
def _merge_sha(data: dict[str, Any]) -> str:
    """Return the merge commit, the squash commit or the head of a fast-forward."""
    return str(data.get("merge_commit_sha") or data.get("squash_commit_sha") or data["sha"])
