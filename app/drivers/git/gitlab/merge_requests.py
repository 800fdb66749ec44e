"""The merge requests of GitLab, with the results of their pipelines."""

from collections.abc import Sequence

from app.drivers.errors import DriverError, UpstreamRejected
from app.drivers.git.errors import GitObjectMissing
from app.drivers.git.gitlab import values
from app.drivers.git.gitlab.calls import GitLabCalls
from app.drivers.git.port import Checks, CheckState, NotMergeable, PullRequest, PullRequestExists, PullRequestState
from app.drivers.git.rest.calls import NO_COMMIT, PAGE
from app.drivers.git.rest.pull_requests import MergeOptions, NotReady, summarize
from app.drivers.git.rest.responses import RequestRefused, is_outcome_unknown

NONE = "The merge request does not exist in the repository"
FORBIDDEN = 403


class GitLabMerges(GitLabCalls):
    """The merge requests of one project."""

    NOUN = "merge request"
    # Draft, closed or a rule; conflict; moved; other reasons.
    UNMERGEABLE = frozenset({405, 406, 409, 422})

    def pull_requests(self) -> Sequence[PullRequest]:
        params = {"state": "all", "order_by": "created_at", "sort": "desc", "per_page": PAGE}
        return [values.merge_request(data) for data in self.read("/merge_requests", params, missing=NONE)]

    def pull_request(self, number: int) -> PullRequest:
        """Return a merge request."""
        return values.merge_request(self._read(number))

    def create_pull_request(self, *, title: str, head: str, base: str, body: str) -> PullRequest:
        request = {"title": title, "source_branch": head, "target_branch": base, "description": body}
        for branch in (head, base):
            self.head(branch)  # GitLab accepts a merge request of branches that do not exist
        try:
            return values.merge_request(self.write("POST", "/merge_requests", request))
        except RequestRefused as fault:
            if fault.status == 409:
                raise PullRequestExists("An open merge request of these branches already exists") from fault
            raise UpstreamRejected(f"The Git host rejected this merge request: {fault.message_of_host}") from fault
        except DriverError as failure:
            merge_request = self._open(head, base) if is_outcome_unknown(failure) else None
            if merge_request is None:
                raise
            return merge_request

    def checks(self, number: int) -> Checks:
        """Return the state of the pipeline of the head, which contains the statuses of external services."""
        data = self._read(number)
        pipeline, head_sha = values.head_pipeline(data), values.merge_request(data).head_sha
        if pipeline is None:
            return summarize(head_sha, [])
        failed = self._failed(pipeline.sha) if pipeline.state is CheckState.FAILED else []
        checks = summarize(head_sha, [(name, CheckState.FAILED) for name in failed])
        return Checks(head_sha, pipeline.state, checks.failed)

    def _failed(self, commit: str) -> list[str]:
        """Return the names of the failed jobs. They are unknown if the account may not read the jobs."""
        try:
            pages = self.pages(f"/repository/commits/{commit}/statuses", {}, missing=NO_COMMIT)
            return [name for page in pages for data in page if (name := values.failed_job(data)) is not None]
        except GitObjectMissing:
            return []
        except RequestRefused as fault:
            if fault.status != FORBIDDEN:
                raise
            return []

    def _read_open(self, number: int) -> PullRequest:
        """Return a merge request that can be merged.

        A new merge request is prepared in the background. GitLab responds to a merge by an account without the
        permission with 401, which is that of an invalid token, so the permission is read before.
        """
        data = self._read(number)
        merge_request = values.merge_request(data)
        if merge_request.state is not PullRequestState.OPEN:
            raise NotMergeable("The merge request is already merged or closed")
        if not values.may_merge(data):
            raise NotMergeable("The Git host does not let this account merge into the branch")
        if values.is_unprepared(data):
            raise NotReady("The Git host has not processed the merge request yet")
        return merge_request

    def _send_merge(self, number: int, options: MergeOptions) -> str:
        """Merge. GitLab responds with 200 and an open merge request if a hook of the server refuses the commit."""
        fields: dict[str, object] = {}
        if options.message is not None:
            fields |= dict.fromkeys(("merge_commit_message", "squash_commit_message"), options.message)
        if options.is_squash:
            fields["squash"] = True
        if options.expected_head is not None:
            fields["sha"] = options.expected_head
        data = self.write("PUT", f"/merge_requests/{number}/merge", fields)
        merge_sha = values.merge_request(data).merge_sha
        if merge_sha is None:
            raise NotMergeable(f"The merge request cannot be merged: {values.merge_error(data)}")
        return merge_sha

    def _read(self, number: int) -> dict[str, object]:
        data: dict[str, object] = self.read(f"/merge_requests/{number}", missing=NONE)
        return data

    def _open(self, head: str, base: str) -> PullRequest | None:
        params = {"state": "opened", "source_branch": head, "target_branch": base}
        data = self.read("/merge_requests", params, missing=NONE)
        return values.merge_request(data[0]) if data else None
