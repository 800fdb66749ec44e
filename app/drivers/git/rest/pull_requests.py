"""The base class of pull requests of REST hosts: updates, merges and the results of checks."""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from app.core.retry import RetryOptions, retry
from app.drivers.errors import DriverError, UpstreamRejected, UpstreamUnavailable
from app.drivers.git.errors import BranchMoved
from app.drivers.git.object_ids import check_message
from app.drivers.git.port import Checks, CheckState, Merged, NotMergeable, PullRequest, PullRequests, PullRequestState
from app.drivers.git.rest.calls import RepositoryCalls
from app.drivers.git.rest.responses import RequestRefused, is_outcome_unknown, quotable


@dataclass(frozen=True)
class MergeOptions:
    """The options of a merge. See `PullRequests.merge_pull_request`."""

    message: str | None = None
    is_squash: bool = False
    expected_head: str | None = None


class NotReady(UpstreamUnavailable):
    """A pull request whose newest commit the host has not processed yet (503). The merge is tried again."""


class RemotePullRequests(RepositoryCalls, PullRequests):
    """The pull requests of one repository."""

    NOUN: ClassVar[str]
    """The name of a pull request at the host."""
    UNMERGEABLE: ClassVar[frozenset[int]]
    """Statuses of the host for a merge that conflicts or that a rule forbids."""

    @abstractmethod
    def _send_merge(self, number: int, options: MergeOptions) -> str:
        """Make the call that merges and return the new commit. Raises RequestRefused, NotMergeable."""

    def _read_open(self, number: int) -> PullRequest:
        """Return a pull request that can be merged. Raises NotMergeable, NotReady."""
        pull_request = self.pull_request(number)
        if pull_request.state is not PullRequestState.OPEN:
            raise NotMergeable(f"The {self.NOUN} is already merged or closed")
        return pull_request

    def merge_pull_request(
        self,
        number: int,
        *,
        message: str | None = None,
        is_squash: bool = False,
        expected_head: str | None = None,
    ) -> Merged:
        """Merge a pull request. After a lost response, read the state of the pull request."""
        if message is not None:
            check_message(message)
        options = MergeOptions(message, is_squash, expected_head)
        return retry(
            lambda: self._merge_once(number, options),
            RetryOptions(is_transient=lambda failure: isinstance(failure, NotReady), deadline_s=self._deadline_s),
        )

    def _merge_once(self, number: int, options: MergeOptions) -> Merged:
        pull_request = self._read_open(number)
        try:
            return Merged(self._send_merge(number, options), pull_request.base)
        except RequestRefused as fault:
            raise self._merge_error(pull_request, options, fault) from fault
        except DriverError as failure:
            merge_sha = self.pull_request(number).merge_sha if is_outcome_unknown(failure) else None
            if merge_sha is None:
                raise
            return Merged(merge_sha, pull_request.base)

    def _merge_error(self, pull_request: PullRequest, options: MergeOptions, fault: RequestRefused) -> DriverError:
        if fault.status == 409 and options.expected_head is not None:
            if self.find_head(pull_request.head) == options.expected_head:
                return NotReady("The Git host has not processed the newest commit of the branch yet")
            return BranchMoved("The branch has moved since it was read")
        if fault.status in self.UNMERGEABLE:
            return NotMergeable(f"The {self.NOUN} cannot be merged: {fault.message_of_host}")
        return UpstreamRejected(f"The Git host rejected this merge: {fault.message_of_host}")


def summarize(head_sha: str, results: Iterable[tuple[str, CheckState]]) -> Checks:
    """Return the state of all checks of a commit from the names and states of single ones."""
    by_state: dict[CheckState, set[str]] = {}
    for name, state in results:
        by_state.setdefault(state, set()).add(quotable(name))
    order = (CheckState.FAILED, CheckState.PENDING, CheckState.PASSED)
    state = next((state for state in order if state in by_state), CheckState.NONE)
    return Checks(head_sha, state, tuple(sorted(by_state.get(CheckState.FAILED, ()))))
