"""Text of `docs/authz-matrix.md`: every endpoint, its declared guard and the result of the guard for each caller.

The text is computed from the declarations: it calls the pure method `allows` of each guard.
"""

import dataclasses
from collections.abc import Iterable
from typing import Any

from app.access.caller import Caller
from app.access.guards import Guard
from app.access.scope import Scope
from app.core.api_tokens import TokenScope
from app.core.permissions import Permission, Role, grants
from tests.contract.expected import Expected
from tests.contract.requests import WITHOUT_PROJECT
from tests.contract.served import Served
from tests.contract.specification import CALLERS
from tests.contract.token_table import token_cells

HEADING = """# Permissions by caller

This page is generated from the declarations of the routes. A test fails if it is out of date; the same test with
`GALLEY_WRITE_DOCS=1` writes it. The columns are callers relative to an organization O with project P: its members by role,
users who are not members, and the owner of another organization. A user in a path is the owner of O. “rule” marks a request that
the guard permits and a rule of the service refuses.

A member who is limited to projects is an editor of the organization. In a chosen project the member has the chosen role, but neither
connects nor deletes the project. In the other projects, and for webhooks, the member is no member.

The last columns are API tokens of O's owner. “scope” is what a token needs: `read`, `write`, `publish` or `admin`; “session”
means that only a signed-in user may send the request. A commit to another branch than the working branch needs `write` instead
of `publish`. “personal” is a personal token, “service” a service account of O, both with that scope. An unknown, expired or
revoked token receives 401. A token without the scope, for another project, or of another organization receives 403.

| permission | owner | admin | editor |
|---|---|---|---|
"""

UPLOAD = "/bucket/upload"


def _caller(*, verified: bool = True, admin: bool = False) -> Caller:
    values: Any = {field.name: None for field in dataclasses.fields(Caller)}
    return Caller(**values | {"id": "usr", "email_verified": verified, "is_admin": admin})


def _member(role: Role) -> Scope:
    return Scope(optional_caller=_caller(), role=role, organization_role=role)


STANDINGS = {
    "anonymous": Scope(),
    "unverified": Scope(optional_caller=_caller(verified=False)),
    "nonmember": Scope(optional_caller=_caller()),
    "editor": _member(Role.EDITOR),
    "admin": _member(Role.ADMIN),
    "owner": dataclasses.replace(_member(Role.OWNER), is_self=True, second_role=Role.OWNER),
    "owner_other": Scope(optional_caller=_caller()),
    "platform_admin": Scope(optional_caller=_caller(admin=True)),
}


def document(rows: Iterable[Expected], routes: dict[tuple[str, str], Served]) -> str:
    """Return the text of the page."""
    lines = [
        f"| `{permission}` | {' | '.join('yes' if grants(role, permission) else 'no' for role in Role)} |"
        for permission in Permission
    ]
    names = [*(name.replace("_", " ") for name in CALLERS), "scope", "personal", "service"]
    lines += ["", f"| endpoint | guard | {' | '.join(names)} |"]
    lines.append("|---|---|" + "---|" * len(names))
    rows = list(rows)
    for row in rows:
        guard = routes[row.route].declared.guard
        own = row.path == UPLOAD or row.path.endswith(WITHOUT_PROJECT)  # The request names no target.
        answers = " | ".join([*(_answer(guard, row, name, own=own) for name in CALLERS), *_tokens(guard, row)])
        path, _, variant = row.path.partition("#")
        lines.append(f"| {row.method} `{path}` {variant}".rstrip() + f" | {guard.spec_name} | {answers} |")
    return HEADING + "\n".join(lines) + "\n"


def _tokens(guard: Guard, row: Expected) -> tuple[str, str, str]:
    """Return the scope that the guard declares, and whether a token and a service account with the scope pass."""
    if guard.public:
        return "–", "yes", "yes"
    scopes = guard.token.needed(is_read=row.method == "GET")
    if not scopes:
        return "session", "no", "no"
    cells = token_cells(row)
    results = ("no" if cells[name] in ("403", "404") else "yes" for name in ("token", "service_account"))
    return (TokenScope.PUBLISH if TokenScope.PUBLISH in scopes else min(scopes), *results)  # type: ignore[return-value]


def _answer(guard: Guard, row: Expected, name: str, *, own: bool) -> str:
    """Return the result of the guard. A rule of the service decides where the table says so."""
    standing = STANDINGS[name]
    second = standing.role if "#" in row.path else standing.second_role  # The request names one organization once.
    if not passes(guard, dataclasses.replace(standing, is_self=own or standing.is_self, second_role=second)):
        return "no"
    return "rule" if row.cells[name] in ("403", "404") else "yes"


def passes(guard: Guard, standing: Scope) -> bool:
    """Return whether `Guard.resolve` passes for an existing target."""
    if guard.public:
        return True
    return standing.is_signed_in and (standing.is_verified or guard.allow_unverified) and guard.allows(standing)
