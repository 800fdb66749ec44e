"""What a Git host may answer wrongly, by host, and what a save may be told then."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.doubles.server import Fault, Reply
from tests.faults.hosted_plant import HostedLife

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

Told = tuple[int, str | None]
"""Status and code."""


@dataclass(frozen=True)
class Row:
    """A row: what the host does, and what a save gets, the same at both hosts unless one is named."""

    name: str
    faults: Callable[[HostedLife], list[Fault]]
    saves: Told
    at_gitlab: Told | None = None

    def told_at(self, host: str) -> Told:
        """What a save at this host gets."""
        return (self.at_gitlab or self.saves) if host == "gitlab" else self.saves


def answering(
    where: dict[str, str] | str, status: int, body: object = None, times: int = EVER, **headers: str
) -> Callable[[HostedLife], list[Fault]]:
    """Calls there get this instead of what they ask for."""
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    given = {"message": f"This is {status}"} if body is None else body
    return lambda life: [Fault(_at(where, life), times=times, reply=Reply(status, given, dict(told)))]


def spoiling(
    where: dict[str, str] | str, times: int = 1, *, lose: bool = False, cut: bool = False
) -> Callable[[HostedLife], list[Fault]]:
    """Calls there take effect, and their answer is lost or cut."""
    return lambda life: [Fault(_at(where, life), times=times, lose=lose, cut=cut)]


def _lost_and_away(life: HostedLife) -> list[Fault]:
    return [Fault(MOVE[life.host], times=EVER, lose=True), Fault(HEAD[life.host], skip=2, times=EVER, reply=Reply(503))]


def _overtaken(life: HostedLife) -> list[Fault]:
    return [Fault(MOVE[life.host], times=3, first=life.push)]


def _at(where: dict[str, str] | str, life: HostedLife) -> str:
    return where if isinstance(where, str) else where[life.host]


SAVED: Told = (201, None)
LATER = "UPSTREAM_THROTTLED"
ROWS = (
    Row("403 to the write", answering(MOVE, 403), (422, "BRANCH_PROTECTED")),
    Row("404 to the repository", answering(REPOSITORY, 404), (422, "REPO_UNAVAILABLE")),
    Row("409 to the write", answering(MOVE, 409), (409, "BRANCH_BUSY"), (422, "REFUSED")),
    Row("409 once", answering(MOVE, 409, times=1), SAVED, (422, "REFUSED")),
    Row("422 to the write", answering(MOVE, 422), (422, "BRANCH_PROTECTED"), (422, "REFUSED")),
    Row("429 for a second", answering(ALL, 429, times=1, Retry_After="1"), SAVED),
    Row("429 for long", answering(ALL, 429, Retry_After="32"), (503, LATER)),
    Row("403 that means 429", answering(ALL, 403, SECONDARY, times=1, Retry_After="1"), SAVED),
    Row("500 once", answering(MOVE, 500, times=1), SAVED),
    Row("500 ever", answering(ALL, 500), (502, "UPSTREAM_BROKEN")),
    Row("502 to the write", answering(MOVE, 502, HTML), (502, "UPSTREAM_BROKEN")),
    Row("503 ever", answering(ALL, 503), (503, "UNAVAILABLE")),
    Row("504 ever", answering(ALL, 504), (504, "UPSTREAM_LATE")),
    Row("HTML for JSON", answering(ALL, 200, HTML), (502, "UPSTREAM_BROKEN")),
    Row("HTML for a tree", answering(TREE, 200, HTML), (502, "UPSTREAM_BROKEN")),
    Row("a cut tree", spoiling(TREE, EVER, cut=True), (502, "UPSTREAM_BROKEN")),
    Row("answer lost after the branch moved", spoiling(MOVE, lose=True), SAVED),
    Row("answer cut after the branch moved", spoiling(MOVE, cut=True), SAVED),
    Row("answer lost, and away since", _lost_and_away, (503, "UNAVAILABLE")),
    Row("pushes before every write", _overtaken, SAVED),
)
