"""Merge requests of one project of GitLab."""

from collections.abc import Sequence
from typing import Any

from app.drivers.errors import DriverError, Rejected
from app.drivers.git import gitlab_values as values
from app.drivers.git.answers import Refusal, in_doubt, parses
from app.drivers.git.gitlab_calls import GitLabProject
from app.drivers.git.hosted_calls import PAGE
from app.drivers.git.pull_requests import Merged, NotMergeable, PullRequest, PullRequestExists, PullRequestState

NONE = "There is no such merge request in the repository"


class GitLabMerges:
    """The merge requests of one project."""

    def __init__(self, project: GitLabProject) -> None:
        self._project = project

    def all(self) -> Sequence[PullRequest]:
        """The newest 100, newest first."""
        params = {"state": "all", "order_by": "created_at", "sort": "desc", "per_page": PAGE}
        return [values.merge_request(found) for found in self._project.read("/merge_requests", params, missing=NONE)]

    def create(self, title: str, head: str, base: str, body: str) -> PullRequest:
        """Propose to merge `head` into `base`; one that was made although no answer came is found again."""
        asked = {"title": title, "source_branch": head, "target_branch": base, "description": body}
        for branch in (head, base):
            self._project.head(branch)  # GitLab takes a merge request of branches that do not exist
        try:
            return values.merge_request(self._project.write("POST", "/merge_requests", asked))
        except Refusal as fault:
            if fault.status == 409:
                raise PullRequestExists("There is already an open merge request of these branches") from fault
            raise Rejected(f"The Git host does not take this merge request: {fault.said}") from fault
        except DriverError as failure:
            made = self._open(head, base) if in_doubt(failure) else None
            if made is None:
                raise
            return made

    def merge(self, number: int) -> Merged:
        """Merge one; a merge that happened although no answer came is found again."""
        asked = values.merge_request(self._one(number))
        if asked.state is not PullRequestState.OPEN:
            raise NotMergeable("The merge request is merged or closed already")
        try:
            return Merged(_merge_sha(self._project.write("PUT", f"/merge_requests/{number}/merge", {})), asked.base)
        except Refusal as fault:
            raise NotMergeable(f"The merge request cannot be merged: {fault.said}") from fault
        except DriverError as failure:
            found = self._one(number)
            if not in_doubt(failure) or values.merge_request(found).state is not PullRequestState.MERGED:
                raise
            return Merged(_merge_sha(found), asked.base)

    def _one(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = self._project.read(f"/merge_requests/{number}", missing=NONE)
        return found

    def _open(self, head: str, base: str) -> PullRequest | None:
        params = {"state": "opened", "source_branch": head, "target_branch": base}
        found = self._project.read("/merge_requests", params, missing=NONE)
        return values.merge_request(found[0]) if found else None


@parses
def _merge_sha(found: dict[str, Any]) -> str:
    """The commit that merged it: a merge, a squash, or a fast-forward's head."""
    return str(found.get("merge_commit_sha") or found.get("squash_commit_sha") or found["sha"])
