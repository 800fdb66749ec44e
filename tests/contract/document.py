"""`docs/authz-matrix.md`: every served endpoint, its declared guard, and what that guard says to each caller.

Computed from the declarations alone, by asking each guard's pure `allows`.
"""

import dataclasses
from collections.abc import Iterable

from app.core.permissions import Permission, Role, grants
from app.http.guards import Guard
from app.http.scope import Standing
from tests.contract.expected import Expected
from tests.contract.requests import WITHOUT_PROJECT
from tests.contract.served import Served
from tests.contract.specification import CALLERS

HEADING = """# Who may do what

Generated from the routes' own declarations; a test fails when it is stale (`GALLEY_WRITE_DOCS=1` with that test writes
it). The columns are callers seen from an organization O with project P: its members by role, people outside, and the
owner of another organization. Where a path names a user, it names O's owner. “rule” marks what the guard lets through
and a rule of the service then refuses.

| permission | owner | admin | editor |
|---|---|---|---|
"""

UPLOAD = "/bucket/upload"
STANDINGS = {
    "anonymous": Standing(),
    "unverified": Standing(signed_in=True),
    "nonmember": Standing(signed_in=True, verified=True),
    "editor": Standing(signed_in=True, verified=True, role=Role.EDITOR, second_role=None),
    "admin": Standing(signed_in=True, verified=True, role=Role.ADMIN, second_role=None),
    "owner": Standing(signed_in=True, verified=True, is_self=True, role=Role.OWNER, second_role=Role.OWNER),
    "owner_other": Standing(signed_in=True, verified=True),
    "platform_admin": Standing(signed_in=True, verified=True, admin=True),
}


def document(rows: Iterable[Expected], routes: dict[tuple[str, str], Served]) -> str:
    """The page's text."""
    lines = [
        f"| `{permission}` | {' | '.join('yes' if grants(role, permission) else 'no' for role in Role)} |"
        for permission in Permission
    ]
    lines += ["", f"| endpoint | guard | {' | '.join(name.replace('_', ' ') for name in CALLERS)} |"]
    lines.append("|---|---|" + "---|" * len(CALLERS))
    rows = list(rows)
    for row in rows:
        guard = routes[row.route].declared.guard
        own = row.path == UPLOAD or row.path.endswith(WITHOUT_PROJECT)  # they name nothing of anybody's
        answers = " | ".join(_answer(guard, row, name, own=own) for name in CALLERS)
        path, _, variant = row.path.partition("#")
        lines.append(f"| {row.method} `{path}` {variant}".rstrip() + f" | {guard.words} | {answers} |")
    return HEADING + "\n".join(lines) + "\n"


def _answer(guard: Guard, row: Expected, name: str, *, own: bool) -> str:
    """The guard's word; where the table knows better, a rule behind the guard decides."""
    standing = STANDINGS[name]
    second = standing.role if "#" in row.path else standing.second_role  # one organization, named once
    if not passes(guard, dataclasses.replace(standing, is_self=own or standing.is_self, second_role=second)):
        return "no"
    return "rule" if row.cells[name] in ("403", "404") else "yes"


def passes(guard: Guard, standing: Standing) -> bool:
    """What `Guard.resolve` comes to for a target that is there."""
    if guard.public:
        return True
    return standing.signed_in and (standing.verified or guard.unverified_too) and guard.allows(standing)
