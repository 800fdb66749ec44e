"""Section 4 of the specification and the extensions of the contract as data.

`guard` is the column of the specification, empty if it states none. The rows are written by hand from the documents, not
from the code. `area` groups related rows.
"""

from typing import NamedTuple

CALLERS = ("anonymous", "unverified", "nonmember", "editor", "admin", "owner", "owner_other", "platform_admin")


class Row(NamedTuple):
    """An endpoint of section 4."""

    area: str
    method: str
    path: str
    guard: str = ""


class Extension(NamedTuple):
    """An endpoint that the contract adds, with the status of each of the eight callers."""

    area: str
    method: str
    path: str
    guard: str
    cells: str


SPECIFICATION = (
    # 4.1
    Row("system", "GET", "/healthz"),
    Row("system", "GET", "/"),
    # 4.2
    Row("auth", "POST", "/auth/sign-up/email"),
    Row("auth", "POST", "/auth/sign-in/email"),
    Row("social", "GET", "/auth/callback/social_a"),
    Row("social", "GET", "/auth/callback/social_b"),
    Row("auth", "POST", "/auth/verify-email"),
    Row("auth", "POST", "/auth/forget-password"),
    Row("auth", "POST", "/auth/reset-password"),
    Row("auth", "GET", "/auth/get-session"),
    Row("auth", "POST", "/auth/sign-out"),
    # 4.3
    Row("user", "GET", "/user/:id", "verifyAuth"),
    Row("user", "PATCH", "/user/set-password", "verifyAuth"),
    Row("user", "POST", "/user/check-limits"),
    Row("user", "PATCH", "/user/update-country/:id", "verifyAuth"),
    Row("user", "PATCH", "/user/update-newsletter/:id"),
    Row("user", "DELETE", "/user/delete/:id", "verifyAuth"),
    # 4.4
    Row("organization", "GET", "/organization/user", "verifyAuth"),
    Row("organization", "GET", "/organization/:org_id", "org:VIEW_PROJECTS"),
    Row("organization", "POST", "/organization", "verifyAuth"),
    Row("organization", "POST", "/organization/ensure-default", "verifyAuth"),
    Row("organization", "PATCH", "/organization/member/:org_id", "org:MANAGE_MEMBERS"),
    Row("organization", "PATCH", "/organization/update-role/:org_id", "org:MANAGE_MEMBERS"),
    Row("organization", "PATCH", "/organization/remove-member/:org_id", "org:MANAGE_MEMBERS"),
    Row("organization", "PATCH", "/organization/leave/:org_id", "org:VIEW_MEMBERS"),
    Row("organization", "PATCH", "/organization/status/:org_id", "org:MANAGE_ORG"),
    Row("organization", "PATCH", "/organization/:org_id", "org:MANAGE_ORG"),
    Row("organization", "DELETE", "/organization/:org_id", "org:DELETE_ORG"),
    # 4.5
    Row("user-preference", "GET", "/user-preference/:id"),
    Row("user-preference", "PATCH", "/user-preference/theme/:id"),
    Row("user-preference", "PATCH", "/user-preference/language/:id"),
    Row("user-preference", "PATCH", "/user-preference/timezone/:id"),
    Row("user-preference", "PATCH", "/user-preference/impersonate/:id"),
    Row("user-preference", "PATCH", "/user-preference/:id"),
    # 4.6
    Row("project", "GET", "/project/:projectId", "owner, admin, editor"),
    Row("project", "GET", "/project/orgs/:orgId", "owner, admin, editor"),
    Row("project", "GET", "/project/user/:userId", "verifyAuth"),
    Row("project", "POST", "/project/create", "owner, admin"),
    Row("project", "PATCH", "/project/:projectId", "owner, admin"),
    Row("project", "PATCH", "/project/visibility/:projectId", "owner, admin"),
    Row("project", "PATCH", "/project/status/:projectId", "owner, admin"),
    Row("project", "PATCH", "/project/generator/:projectId", "owner, admin"),
    Row("project", "PATCH", "/project/git/:projectId", "owner, admin"),
    Row("project", "PATCH", "/project/move/:orgId/:projectId", "org:DELETE_ORG"),
    Row("project", "DELETE", "/project/:projectId", "org:MANAGE_PROJECTS"),
    # 4.7
    Row("project-preview", "GET", "/project-preview/:project_id", "memberOfOrg"),
    Row("project-preview", "PUT", "/project-preview/:project_id", "memberOfOrg"),
    Row("project-preview", "DELETE", "/project-preview/:project_id", "memberOfOrg"),
    # 4.8
    Row("credentials", "POST", "/git-provider/create", "verifyAuth"),
    Row("credentials", "POST", "/git-provider/rotate", "verifyAuth"),
    Row("git-provider", "GET", "/git-provider/:userId", "verifyAuth"),
    Row("credentials", "POST", "/provider/create"),
    Row("git-provider", "GET", "/provider/:userId"),
    # 4.9
    Row("project-content", "GET", "/project-content/:project_id"),
    Row("project-content", "GET", "/project-content/:project_id/file"),
    Row("project-log", "GET", "/project-log/:project_id"),
    Row("project-log", "POST", "/project-log/:project_id"),
    # 4.10
    Row("bucket", "POST", "/bucket/upload"),
    Row("bucket", "DELETE", "/bucket/delete/:key"),
    # 4.11
    Row("order", "GET", "/order/:userId"),
    Row("order", "POST", "/order/cancel"),
    Row("order", "GET", "/order/update-payment-method/:subscriptionId"),
    Row("order", "POST", "/order/pre-order"),
    Row("order", "GET", "/order/summary"),
    # 4.12
    Row("exchange", "POST", "/api/auth/provider_a"),
    Row("exchange", "POST", "/api/auth/provider_a/refresh"),
    Row("exchange", "POST", "/api/auth/provider_b"),
    Row("exchange", "POST", "/api/auth/provider_b/refresh"),
    Row("ai", "POST", "/api/ai/command"),
    Row("ai", "POST", "/api/ai/copilot"),
    Row("ai", "POST", "/api/ai/chat"),
    Row("ai", "POST", "/api/ai/code-edit"),
    Row("ai", "POST", "/api/ai/code-explain"),
    Row("ai", "POST", "/api/ai/commit"),
    Row("ai", "POST", "/api/ai/metadata"),
    Row("ai", "POST", "/api/ai/seo-fix"),
    Row("sandbox", "POST", "/api/sandbox/create"),
    Row("sandbox", "POST", "/api/sandbox/heartbeat"),
    Row("sandbox", "POST", "/api/sandbox/stop"),
)

RECENT = frozenset(
    {
        ("POST", "/tokens"),
        ("PATCH", "/tokens/:id"),
        ("POST", "/tokens/:id/rotate"),
        ("POST", "/organization/:org_id/service-accounts"),
        ("PATCH", "/organization/:org_id/service-accounts/:id"),
        ("POST", "/organization/:org_id/service-accounts/:id/rotate"),
        ("POST", "/organization/transfer/:org_id"),
        ("DELETE", "/organization/:org_id"),
        ("DELETE", "/user/delete/:id"),
        ("GET", "/auth/passkey/generate-register-options"),
        ("POST", "/auth/passkey/verify-registration"),
        ("POST", "/auth/passkey/delete-passkey"),
    }
)
"""Endpoints that need a recent proof of the identity. Their request to an old session contains no password."""

ANYONE = "2xx 2xx 2xx 2xx 2xx 2xx 2xx 2xx"
PAGE = "302 302 302 302 302 302 302 302"
VERIFIED = "401 403 2xx 2xx 2xx 2xx 2xx 2xx"
MEMBERS = "401 403 403 2xx 2xx 2xx 403 403"
MANAGERS = "401 403 403 403 2xx 2xx 403 403"
MEMBERS_HIDDEN_FROM_STRANGERS = "401 403 404 2xx 2xx 2xx 404 404"
HIDDEN_FROM_STRANGERS = "401 403 404 403 2xx 2xx 404 404"
OWNER = "401 403 403 403 403 2xx 403 403"
OWNED = "401 403 404 404 404 2xx 404 404"
HIDDEN = "404 404 404 404 404 404 404 404"
UNSIGNED = "400 400 400 400 400 400 400 400"

_AI_GUARD = "verifyAuth; memberOfOrg if projectId given"
VARIANTS = (
    Extension("bucket", "POST", "/bucket/upload#to O", "verifyAuth", MANAGERS),
    *(
        Extension("ai", "POST", f"/api/ai/{name}#without a project", _AI_GUARD, VERIFIED)
        for name in ("command", "copilot", "code-edit", "code-explain", "commit", "metadata", "seo-fix")
    ),
)
"""Endpoints whose guard requires more if the body names a target. The text after `#` names the requirement."""

EXTENSIONS = (
    Extension("system", "GET", "/readyz", "public", ANYONE),
    Extension("system", "GET", "/metrics", "public", HIDDEN),
    Extension("ai", "GET", "/ai/usage", "verifyAuth", VERIFIED),
    Extension("ai", "GET", "/api/ai/chat/:chat_id/stream", "verifyAuth", VERIFIED),
    Extension("auth", "POST", "/auth/send-verification-otp", "public+rate", ANYONE),
    Extension("auth", "POST", "/auth/email-otp/verify-email", "public+rate", ANYONE),
    Extension("auth", "POST", "/auth/email-otp/send-verification-otp", "public+rate", ANYONE),
    Extension("auth", "POST", "/auth/request-password-reset", "public+rate", ANYONE),
    Extension("auth", "POST", "/auth/change-password", "verifyAuth", VERIFIED),
    Extension("auth", "GET", "/auth/list-sessions", "verifyAuth", VERIFIED),
    Extension("auth", "POST", "/auth/revoke-session", "verifyAuth", VERIFIED),
    Extension("auth", "POST", "/auth/revoke-sessions", "verifyAuth", VERIFIED),
    Extension("auth", "POST", "/auth/revoke-other-sessions", "verifyAuth", VERIFIED),
    Extension("auth", "GET", "/auth/list-accounts", "verifyAuth", VERIFIED),
    Extension("auth", "POST", "/auth/update-user", "verifyAuth", VERIFIED),
    Extension("auth", "POST", "/auth/reauthenticate", "verifyAuth", VERIFIED),
    Extension("passkey", "GET", "/auth/passkey/generate-register-options", "verifyAuth", VERIFIED),
    Extension("passkey", "POST", "/auth/passkey/verify-registration", "verifyAuth", VERIFIED),
    Extension("passkey", "GET", "/auth/passkey/generate-authenticate-options", "public+rate", ANYONE),
    Extension("passkey", "POST", "/auth/passkey/verify-authentication", "public+rate", ANYONE),
    Extension("passkey", "GET", "/auth/passkey/list-user-passkeys", "verifyAuth", VERIFIED),
    Extension("passkey", "POST", "/auth/passkey/update-passkey", "verifyAuth", VERIFIED),
    Extension("passkey", "POST", "/auth/passkey/delete-passkey", "verifyAuth", VERIFIED),
    *(
        Extension("second factor", "POST", f"/auth/two-factor/{name}", guard, cells)
        for name, guard, cells in (
            ("enable", "verifyAuth", VERIFIED),
            ("disable", "verifyAuth", VERIFIED),
            ("get-totp-uri", "verifyAuth", VERIFIED),
            ("verify-totp", "public+rate", ANYONE),
            ("send-otp", "public+rate", ANYONE),
            ("verify-otp", "public+rate", ANYONE),
            ("generate-backup-codes", "verifyAuth", VERIFIED),
            ("verify-backup-code", "public+rate", ANYONE),
            ("reset", "public+token", ANYONE),
            ("revoke-trusted-device", "verifyAuth", VERIFIED),
        )
    ),
    Extension("second factor", "GET", "/auth/two-factor/trusted-devices", "verifyAuth", VERIFIED),
    Extension("second factor", "POST", "/organization/:org_id/member/:user_id/reset-second-factor", "owner", OWNER),
    Extension("social", "POST", "/auth/sign-in/social", "public+rate", ANYONE),
    Extension("social", "GET", "/auth/callback/github", "public+state", PAGE),
    Extension("social", "GET", "/auth/callback/google", "public+state", PAGE),
    Extension("organization", "POST", "/organization/transfer/:org_id", "owner", OWNER),
    Extension("project", "GET", "/project/:projectId/branches", "owner,admin,editor", MEMBERS),
    Extension("project", "POST", "/project/:projectId/branches", "owner,admin,editor", MEMBERS),
    Extension("project", "DELETE", "/project/:projectId/branches/:name", "owner,admin,editor", MEMBERS),
    Extension("pull-requests", "GET", "/project/:projectId/pull-requests", "owner,admin,editor", MEMBERS),
    Extension("pull-requests", "POST", "/project/:projectId/pull-requests", "owner,admin,editor", MEMBERS),
    Extension(
        "pull-requests", "POST", "/project/:projectId/pull-requests/:number/merge", "owner,admin,editor", MEMBERS
    ),
    Extension("git-provider", "GET", "/git-provider/repositories", "verifyAuth", VERIFIED),
    Extension("git-provider", "GET", "/provider/repositories", "verifyAuth", VERIFIED),
    Extension("git-provider", "POST", "/git-provider/repositories", "org:MANAGE_PROJECTS of body org", MANAGERS),
    Extension("git-provider", "POST", "/provider/repositories", "org:MANAGE_PROJECTS of body org", MANAGERS),
    Extension("credentials", "POST", "/provider/rotate", "verifyAuth, own row", VERIFIED),
    Extension("credentials", "DELETE", "/git-provider/:id", "verifyAuth", VERIFIED),
    Extension("credentials", "DELETE", "/provider/:id", "verifyAuth", VERIFIED),
    Extension("project-content", "GET", "/project-content/:project_id/raw", "memberOfOrg", MEMBERS),
    Extension("project-content", "GET", "/project-content/:project_id/history", "memberOfOrg", MEMBERS),
    Extension("project-content", "GET", "/project-content/:project_id/compare", "memberOfOrg", MEMBERS),
    Extension("project-content", "POST", "/project-content/:project_id/restore", "memberOfOrg", MEMBERS),
    Extension("project-content", "POST", "/project-content/:project_id/commit", "memberOfOrg", MEMBERS),
    Extension("project-content", "POST", "/project-content/:project_id/merge-preview", "memberOfOrg", MEMBERS),
    Extension("project-content", "POST", "/project-content/:project_id/reindex", "memberOfOrg", MEMBERS),
    Extension("search", "GET", "/project-content/:project_id/search", "memberOfOrg", MEMBERS),
    Extension("search", "GET", "/project-content/:project_id/backlinks", "memberOfOrg", MEMBERS),
    Extension("project-content", "GET", "/project-content/:project_id/index/events", "memberOfOrg", MEMBERS),
    Extension("project-content", "PATCH", "/project-content/:project_id/front-matter", "memberOfOrg", MEMBERS),
    Extension("project-content", "GET", "/project-content/:project_id/entries", "memberOfOrg", MEMBERS),
    Extension("schemas", "GET", "/project/:projectId/schema", "memberOfOrg", MEMBERS),
    Extension("schemas", "POST", "/project/:projectId/schema/adopt", "memberOfOrg", MEMBERS),
    Extension("change-sets", "GET", "/project/:projectId/change-sets", "memberOfOrg", MEMBERS),
    Extension("change-sets", "POST", "/project/:projectId/change-sets", "memberOfOrg", MEMBERS),
    *(
        Extension(
            "change-sets",
            method,
            f"/change-set/:change_set_id{path}",
            "memberOfOrg or 404",
            MEMBERS_HIDDEN_FROM_STRANGERS,
        )
        for method, path in (
            ("GET", ""),
            ("PATCH", ""),
            ("DELETE", ""),
            ("POST", "/commit"),
            ("GET", "/diff"),
            ("POST", "/submit"),
            ("GET", "/reviews"),
            ("POST", "/reviews"),
            ("GET", "/comments"),
            ("POST", "/comments"),
            ("PATCH", "/comments/:comment_id"),
            ("POST", "/publish"),
            ("PUT", "/schedule"),
            ("DELETE", "/schedule"),
            ("POST", "/update"),
            ("POST", "/resolve"),
            ("POST", "/move"),
            ("POST", "/revert"),
        )
    ),
    Extension("project-preview", "GET", "/project-preview/:project_id/marks", "memberOfOrg", MEMBERS),
    Extension("builds", "GET", "/project/:projectId/builds", "memberOfOrg", MEMBERS),
    Extension("builds", "POST", "/project/:projectId/builds", "memberOfOrg", MEMBERS),
    Extension("builds", "GET", "/build/:build_id", "memberOfOrg or 404", MEMBERS_HIDDEN_FROM_STRANGERS),
    Extension("builds", "DELETE", "/build/:build_id", "memberOfOrg or 404", MEMBERS_HIDDEN_FROM_STRANGERS),
    Extension("builds", "GET", "/change-set/:change_set_id/pages", "memberOfOrg or 404", MEMBERS_HIDDEN_FROM_STRANGERS),
    Extension(
        "review links",
        "GET",
        "/change-set/:change_set_id/review-links",
        "memberOfOrg or 404",
        MEMBERS_HIDDEN_FROM_STRANGERS,
    ),
    Extension(
        "review links",
        "POST",
        "/change-set/:change_set_id/review-links",
        "memberOfOrg or 404",
        MEMBERS_HIDDEN_FROM_STRANGERS,
    ),
    Extension("review links", "DELETE", "/review-link/:link_id", "memberOfOrg or 404", MEMBERS_HIDDEN_FROM_STRANGERS),
    Extension("drafts", "GET", "/project-draft/:project_id", "memberOfOrg", MEMBERS),
    Extension("drafts", "PUT", "/project-draft/:project_id", "memberOfOrg", MEMBERS),
    Extension("drafts", "DELETE", "/project-draft/:project_id", "memberOfOrg", MEMBERS),
    Extension("tokens", "GET", "/tokens", "verifyAuth", VERIFIED),
    Extension("tokens", "POST", "/tokens", "verifyAuth", VERIFIED),
    Extension("tokens", "GET", "/tokens/:id", "own token", OWNED),
    Extension("tokens", "PATCH", "/tokens/:id", "own token", OWNED),
    Extension("tokens", "DELETE", "/tokens/:id", "own token", OWNED),
    Extension("tokens", "POST", "/tokens/:id/rotate", "own token", OWNED),
    Extension("tokens", "GET", "/organization/:org_id/service-accounts", "org:MANAGE_ORG", MANAGERS),
    Extension("tokens", "POST", "/organization/:org_id/service-accounts", "org:MANAGE_ORG", MANAGERS),
    Extension("tokens", "GET", "/organization/:org_id/service-accounts/:id", "org:MANAGE_ORG", MANAGERS),
    Extension("tokens", "PATCH", "/organization/:org_id/service-accounts/:id", "org:MANAGE_ORG", MANAGERS),
    Extension("tokens", "DELETE", "/organization/:org_id/service-accounts/:id", "org:MANAGE_ORG", MANAGERS),
    Extension("tokens", "POST", "/organization/:org_id/service-accounts/:id/rotate", "org:MANAGE_ORG", MANAGERS),
    Extension("outbound-webhooks", "GET", "/organization/:org_id/webhooks", "org:MANAGE_ORG", MANAGERS),
    Extension("outbound-webhooks", "POST", "/organization/:org_id/webhooks", "org:MANAGE_ORG", MANAGERS),
    *(
        Extension(
            "outbound-webhooks", method, f"/webhook/:id{path}", "org:MANAGE_ORG of the webhook", HIDDEN_FROM_STRANGERS
        )
        for method, path in (
            ("GET", ""),
            ("PATCH", ""),
            ("DELETE", ""),
            ("POST", "/rotate"),
            ("POST", "/test"),
            ("POST", "/recover"),
            ("GET", "/deliveries"),
            ("GET", "/delivery/:delivery_id"),
            ("POST", "/delivery/:delivery_id/replay"),
        )
    ),
    Extension("bucket", "GET", "/media/:key", "public", ANYONE),
    Extension("exchange", "POST", "/api/auth/provider_a/start", "verifyAuth", VERIFIED),
    Extension("exchange", "POST", "/api/auth/provider_b/start", "verifyAuth", VERIFIED),
    Extension("billing", "POST", "/api/webhooks/billing", "public+signature", UNSIGNED),
    Extension("webhooks", "POST", "/api/webhooks/provider_a", "public+signature", UNSIGNED),
    Extension("webhooks", "POST", "/api/webhooks/provider_b", "public+signature", UNSIGNED),
)
