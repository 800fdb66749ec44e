"""Permissions of API tokens as data: the scope of each endpoint and the expected status of each token caller.

The scopes are written by hand from the rules of the contract: `read` for reads, `write` for everything that an editor may
change, `publish` for commits to the working branch, `admin` for changes of projects and organizations.
"""

from typing import NamedTuple

from tests.contract.expected import Expected

TOKEN_CALLERS = (
    "token",
    "service_account",
    "expired",
    "revoked",
    "unknown",
    "wrong_scope",
    "wrong_project",
    "wrong_organization",
    "former_member",
)
"""`token` and `service_account` have exactly the scope of the endpoint; each other caller differs in one property."""

READ, WRITE, PUBLISH, ADMIN, SESSION, PUBLIC = "read", "write", "publish", "admin", "session", "public"

PUBLIC_GUARDS = ("public",)
SESSION_GUARDS = frozenset(
    {"session", "verifyAuth + state", "verifyAuth+self+fresh", "platform admin", "own subscription", "own token"}
)
EDITOR_GUARDS = frozenset(
    {
        "memberOfOrg",
        "memberOfOrg or 404",
        "owner,admin,editor",
        "verifyAuth; memberOfOrg if projectId given",
        "uploader, or MANAGE_ORG of the org the key is attached to",
    }
)
EXACT = {
    ("GET", "/ai/usage"): READ,
    ("GET", "/api/ai/chat/:chat_id/stream"): READ,
    ("GET", "/user/:id"): READ,
    ("POST", "/user/check-limits"): READ,
    ("PATCH", "/user/update-country/:id"): WRITE,
    ("PATCH", "/user/update-newsletter/:id"): WRITE,
    ("GET", "/organization/user"): READ,
    ("POST", "/organization"): ADMIN,
    ("POST", "/organization/ensure-default"): ADMIN,
    ("GET", "/user-preference/:id"): READ,
    ("PATCH", "/user-preference/theme/:id"): WRITE,
    ("PATCH", "/user-preference/language/:id"): WRITE,
    ("PATCH", "/user-preference/timezone/:id"): WRITE,
    ("PATCH", "/user-preference/impersonate/:id"): WRITE,
    ("PATCH", "/user-preference/:id"): WRITE,
    ("GET", "/project/user/:userId"): READ,
    ("POST", "/project/:projectId/pull-requests/:number/merge"): PUBLISH,
    ("POST", "/git-provider/create"): ADMIN,
    ("POST", "/git-provider/rotate"): ADMIN,
    ("GET", "/git-provider/:userId"): READ,
    ("GET", "/git-provider/repositories"): READ,
    ("DELETE", "/git-provider/:id"): ADMIN,
    ("POST", "/provider/create"): ADMIN,
    ("POST", "/provider/rotate"): ADMIN,
    ("GET", "/provider/:userId"): READ,
    ("GET", "/provider/repositories"): READ,
    ("DELETE", "/provider/:id"): ADMIN,
    ("POST", "/api/auth/provider_a/refresh"): ADMIN,
    ("POST", "/api/auth/provider_b/refresh"): ADMIN,
    ("POST", "/project-content/:project_id/commit"): PUBLISH,
    ("POST", "/project-content/:project_id/merge-preview"): READ,
    ("PATCH", "/project-content/:project_id/front-matter"): PUBLISH,
    ("POST", "/project-content/:project_id/restore"): PUBLISH,
    ("POST", "/project/:projectId/schema/adopt"): PUBLISH,
    ("POST", "/change-set/:change_set_id/publish"): PUBLISH,
    ("PUT", "/change-set/:change_set_id/schedule"): PUBLISH,
    ("DELETE", "/change-set/:change_set_id/schedule"): PUBLISH,
    ("POST", "/change-set/:change_set_id/revert"): PUBLISH,
    ("GET", "/change-set/:change_set_id/review-links"): PUBLISH,
    ("POST", "/change-set/:change_set_id/review-links"): PUBLISH,
    ("DELETE", "/review-link/:link_id"): PUBLISH,
    ("POST", "/bucket/upload"): WRITE,
    ("POST", "/organization/:org_id/member/:user_id/reset-second-factor"): SESSION,
}
"""Endpoints whose scope does not follow from the guard. A commit without a branch writes to the working branch."""

OF_SIGN_IN = {f"/auth/two-factor/{name}" for name in ("verify-totp", "send-otp", "verify-otp", "verify-backup-code")}
"""Public endpoints that need the cookie of a sign-in or a session. A program has neither."""


class Reach(NamedTuple):
    """Targets that a request names."""

    project: bool
    organization: bool


def needed(row: Expected) -> str:
    """Return the scope of an endpoint, `session` if it refuses tokens, or `public`."""
    method, path = row.route
    if row.words.startswith(PUBLIC_GUARDS):
        return PUBLIC
    if (method, path) in EXACT:
        return EXACT[method, path]
    if row.words in SESSION_GUARDS or "/service-accounts" in path:
        return SESSION
    if row.words.startswith(("verifyAuth+self", "verifyAuth, own row")) or row.words == "verifyAuth":
        return SESSION
    if "/webhook" in path:
        return ADMIN
    if method == "GET":
        return READ
    return WRITE if row.words in EDITOR_GUARDS else ADMIN


def reach(row: Expected) -> Reach:
    """Return the targets that the request of the row names."""
    path, _, variant = row.path.partition("#")
    project = (
        any(name in path for name in (":projectId", ":project_id"))
        or path.startswith(("/api/sandbox/", "/change-set/", "/build/", "/review-link/"))
        or (path.startswith("/api/ai/") and row.method == "POST" and variant != "without a project")
    )
    organization = (
        project or ":org" in path or path.startswith("/webhook/") or "of body org" in row.words or variant == "to O"
    )
    is_move = path.startswith("/project/move/")  # No token for some projects covers the second organization.
    return Reach(project and not is_move, organization or path == "/bucket/delete/:key")


def token_cells(row: Expected) -> dict[str, str]:
    """Return the expected status of each token caller. The tokens belong to the owner of O."""
    scope, owner = needed(row), row.cells["owner"]
    if scope == PUBLIC:
        return dict.fromkeys(TOKEN_CALLERS, "401" if row.path in OF_SIGN_IN else owner)
    invalid = dict.fromkeys(("expired", "revoked", "unknown", "former_member"), "401")
    refused = dict.fromkeys(("wrong_scope", "wrong_project", "wrong_organization"), "403")
    is_move = row.path.startswith("/project/move/")  # Its second organization is not the one of the token.
    return (
        invalid
        | refused
        | {
            "token": "403" if scope == SESSION else owner,
            "service_account": owner if scope != SESSION and reach(row).organization and not is_move else "403",
        }
    )
