"""The pull requests of GitHub, with the results of check runs and commit statuses."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from app.concurrency.bounded import run_with_concurrency
from app.drivers.errors import DriverError, UpstreamRejected
from app.drivers.git.github import values
from app.drivers.git.github.calls import GitHubCalls
from app.drivers.git.port import Checks, CheckState, PullRequest, PullRequestExists
from app.drivers.git.rest.calls import NO_COMMIT, PAGE
from app.drivers.git.rest.pull_requests import MergeOptions, summarize
from app.drivers.git.rest.responses import RequestRefused, is_outcome_unknown

NONE = "The pull request does not exist in the repository"
FORBIDDEN = 403


class GitHubPulls(GitHubCalls):
    """The pull requests of one repository."""

    NOUN = "pull request"
    # Not mergeable or refused by a rule, conflict, invalid combination of options.
    UNMERGEABLE = frozenset({405, 409, 422})

    def pull_requests(self) -> Sequence[PullRequest]:
        params = {"state": "all", "sort": "created", "direction": "desc", "per_page": PAGE}
        return [values.pull_request(data) for data in self.read("/pulls", params, missing=NONE)]

    def pull_request(self, number: int) -> PullRequest:
        return values.pull_request(self.read(f"/pulls/{number}", missing=NONE))

    def create_pull_request(self, *, title: str, head: str, base: str, body: str) -> PullRequest:
        fields = {"title": title, "head": head, "base": base, "body": body}
        try:
            return values.pull_request(self.write("POST", "/pulls", fields))
        except RequestRefused as fault:
            if "already exists" in fault.message_of_host:
                raise PullRequestExists("An open pull request of these branches already exists") from fault
            raise UpstreamRejected(f"The Git host rejected this pull request: {fault.message_of_host}") from fault
        except DriverError as failure:
            pull_request = self._open(head, base) if is_outcome_unknown(failure) else None
            if pull_request is None:
                raise
            return pull_request

    def checks(self, number: int) -> Checks:
        """Return the results of the check runs and of the commit statuses of the head."""
        sha = self.pull_request(number).head_sha
        runs, statuses = run_with_concurrency(
            [
                partial(self._results, f"/commits/{sha}/check-runs", "check_runs", values.check_run),
                partial(self._results, f"/commits/{sha}/status", "statuses", values.commit_status),
            ]
        )
        return summarize(sha, [*runs, *statuses])

    def _results(
        self, path: str, items: str, parse: Callable[[dict[str, Any]], tuple[str, CheckState]]
    ) -> list[tuple[str, CheckState]]:
        """Read one kind of results. It is empty if the installation of the app may not read this kind."""
        try:
            pages = self.pages(path, {}, missing=NO_COMMIT, items=items)
            return [parse(data) for page in pages for data in page]
        except RequestRefused as fault:
            if fault.status != FORBIDDEN:
                raise
            return []

    def _send_merge(self, number: int, options: MergeOptions) -> str:
        fields: dict[str, str] = {}
        if options.message is not None:
            title, _, body = options.message.strip().partition("\n")
            fields |= {"commit_title": title, "commit_message": body.lstrip("\n")}
        if options.is_squash:
            fields["merge_method"] = "squash"
        if options.expected_head is not None:
            fields["sha"] = options.expected_head
        return values.sha(self.write("PUT", f"/pulls/{number}/merge", fields))

    def _open(self, head: str, base: str) -> PullRequest | None:
        params = {"state": "open", "head": f"{self.repo.name.partition('/')[0]}:{head}", "base": base}
        data = self.read("/pulls", params, missing=NONE)
        return values.pull_request(data[0]) if data else None
