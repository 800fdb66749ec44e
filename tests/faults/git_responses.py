"""Faulty responses of the Git hosts, and the expected results of a save."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.faults.hosted_deployment import HostedWorkload
from tests.support.doubles.server import Fault, Reply

HOSTS = ("github", "gitlab")
HEAD = {"github": r"GET .*/git/ref/heads/main$", "gitlab": r"GET .*/repository/branches/main$"}
MOVE = {"github": r"PATCH .*/git/refs/heads/main$", "gitlab": r"POST .*/repository/commits$"}
TREE = {"github": r"GET .*/git/trees/", "gitlab": r"GET .*/repository/tree$"}
LIST = r"GET .*/branches$"
ALL = r"/api/"
REPOSITORY = r"/api/(repos|v4/projects)/"
HTML = b"<html><body>Sign in to continue</body></html>"
SECONDARY = {"message": "You have exceeded a secondary rate limit"}
EVER = 10_000

Outcome = tuple[int, str | None]
"""Status and error code."""


@dataclass(frozen=True)
class Row:
    """A fault of the host and the expected result of a save. `at_gitlab` is the result at GitLab if it differs."""

    name: str
    faults: Callable[[HostedWorkload], list[Fault]]
    saves: Outcome
    at_gitlab: Outcome | None = None

    def expected_at(self, host: str) -> Outcome:
        """Return the expected result of a save at a host."""
        return (self.at_gitlab or self.saves) if host == "gitlab" else self.saves


def respond_with(
    where: dict[str, str] | str, status: int, body: object = None, times: int = EVER, **headers: str
) -> Callable[[HostedWorkload], list[Fault]]:
    """Return a fault that replaces the response of matching calls."""
    values = {name.replace("_", "-"): value for name, value in headers.items()}
    content = {"message": f"This is {status}"} if body is None else body
    return lambda workload: [Fault(_at(where, workload), times=times, reply=Reply(status, content, dict(values)))]


def break_response(
    where: dict[str, str] | str, times: int = 1, *, lose: bool = False, cut: bool = False
) -> Callable[[HostedWorkload], list[Fault]]:
    """Return a fault of matching calls that take effect, but whose response is lost or cut."""
    return lambda workload: [Fault(_at(where, workload), times=times, lose=lose, cut=cut)]


def _response_dropped_and_unavailable(workload: HostedWorkload) -> list[Fault]:
    return [
        Fault(MOVE[workload.host], times=EVER, lose=True),
        Fault(HEAD[workload.host], skip=2, times=EVER, reply=Reply(503)),
    ]


def _push_before_write(workload: HostedWorkload) -> list[Fault]:
    return [Fault(MOVE[workload.host], times=3, first=workload.push)]


def _at(where: dict[str, str] | str, workload: HostedWorkload) -> str:
    return where if isinstance(where, str) else where[workload.host]


SAVED: Outcome = (201, None)
LATER = "UPSTREAM_THROTTLED"
ROWS = (
    Row("403 to the write", respond_with(MOVE, 403), (422, "BRANCH_PROTECTED")),
    Row("404 to the repository", respond_with(REPOSITORY, 404), (422, "REPO_UNAVAILABLE")),
    Row("409 to the write", respond_with(MOVE, 409), (409, "BRANCH_BUSY"), (422, "REFUSED")),
    Row("409 once", respond_with(MOVE, 409, times=1), SAVED, (422, "REFUSED")),
    Row("422 to the write", respond_with(MOVE, 422), (422, "BRANCH_PROTECTED"), (422, "REFUSED")),
    Row("429 for a second", respond_with(ALL, 429, times=1, Retry_After="1"), SAVED),
    Row("429 for long", respond_with(ALL, 429, Retry_After="32"), (503, LATER)),
    Row("403 that means 429", respond_with(ALL, 403, SECONDARY, times=1, Retry_After="1"), SAVED),
    Row("500 once", respond_with(MOVE, 500, times=1), SAVED),
    Row("500 ever", respond_with(ALL, 500), (502, "UPSTREAM_BROKEN")),
    Row("502 to the write", respond_with(MOVE, 502, HTML), (502, "UPSTREAM_BROKEN")),
    Row("503 ever", respond_with(ALL, 503), (503, "UNAVAILABLE")),
    Row("504 ever", respond_with(ALL, 504), (504, "UPSTREAM_LATE")),
    Row("HTML for JSON", respond_with(ALL, 200, HTML), (502, "UPSTREAM_BROKEN")),
    Row("HTML for a tree", respond_with(TREE, 200, HTML), (502, "UPSTREAM_BROKEN")),
    Row("a cut tree", break_response(TREE, EVER, cut=True), (502, "UPSTREAM_BROKEN")),
    Row("answer lost after the branch moved", break_response(MOVE, lose=True), SAVED),
    Row("answer cut after the branch moved", break_response(MOVE, cut=True), SAVED),
    Row("answer lost, and away since", _response_dropped_and_unavailable, (503, "UNAVAILABLE")),
    Row("pushes before every write", _push_before_write, SAVED),
)
