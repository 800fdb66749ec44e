"""The pages and forms of the console, and the outcome for each caller: the authorization data of the console.

`show`: the page or the effect of the form. `sign-in`: a redirect to the sign-in, 401 for a form. `verify`: a redirect to
the verification, 403 for a form. `deny`: 403. `hide`: 404. `lead`: a redirect.
"""

from typing import NamedTuple

CALLERS = ("anonymous", "unverified", "nonmember", "editor", "admin", "owner", "owner_other", "platform_admin")
ANYONE = "show show show show show show show show"
VERIFIED = "sign-in verify show show show show show show"
MEMBERS = "sign-in verify deny show show show deny deny"
SET = "sign-in verify hide show show show hide hide"
MANAGERS = "sign-in verify deny deny show show deny deny"
OWNER = "sign-in verify deny deny deny show deny deny"
PLATFORM = "sign-in verify deny deny deny deny deny show"
LEAD = "lead lead lead lead lead lead lead lead"
ORGANIZATION, PROJECT = "/console/organizations/:org_id", "/console/projects/:project_id"
WEBHOOKS = f"{ORGANIZATION}/webhooks"
FACTOR_PAGES = ("second-factor", "reset-second-factor")


class Row(NamedTuple):
    """A page (GET) or a form (POST)."""

    method: str
    path: str
    cells: str


PAGES = (
    *(
        Row("GET", f"/{name}", LEAD)
        for name in ("sign-in", "forgot-password", "reset-password", "reset-second-factor", "invitation")
    ),
    *(
        Row("GET", f"/console/{name}", ANYONE)
        for name in ("sign-in", "sign-up", "verify", "forgot-password", "reset-password", "invitation")
    ),
    *(
        Row("POST", f"/console/{name}", ANYONE)
        for name in ("sign-in", "sign-up", "verify", "verify/resend", "forgot-password", "reset-password", "sign-out")
    ),
    Row("GET", "/console/account/passkeys", VERIFIED),
    *(Row("POST", f"/console/account/passkeys{path}", VERIFIED) for path in ("", "/add", "/rename", "/delete")),
    *(Row("GET", f"/connect/{name}", VERIFIED) for name in ("provider_a", "provider_b")),
    Row("GET", "/console/static/:name", ANYONE),
    Row("GET", "/console/:unknown", ANYONE),
    *(Row(method, f"/console/{name}", ANYONE) for method in ("GET", "POST") for name in FACTOR_PAGES),
    Row("POST", "/console/second-factor/send", ANYONE),
    Row("GET", "/console/account/second-factor", VERIFIED),
    *(
        Row("POST", f"/console/account/{name}", VERIFIED)
        for name in (
            *("second-factor/enable", "second-factor/confirm", "second-factor/codes", "second-factor/disable"),
            "sessions/distrust",
        )
    ),
    Row("POST", f"{ORGANIZATION}/second-factor", MANAGERS),
    Row("POST", f"{ORGANIZATION}/members/reset-second-factor", OWNER),
    Row("GET", "/console", VERIFIED),
    Row("GET", "/console/for-you", VERIFIED),
    Row("POST", "/console/for-you/read", VERIFIED),
    Row("GET", "/console/help", VERIFIED),
    Row("POST", "/console/organizations", VERIFIED),
    Row("GET", ORGANIZATION, MEMBERS),
    Row("GET", f"{ORGANIZATION}/members", MEMBERS),
    Row("POST", f"{ORGANIZATION}/members/invite", MANAGERS),
    Row("POST", f"{ORGANIZATION}/members/role", MANAGERS),
    Row("POST", f"{ORGANIZATION}/members/remove", MANAGERS),
    Row("POST", f"{ORGANIZATION}/leave", MEMBERS),
    Row("GET", f"{ORGANIZATION}/settings", MEMBERS),
    Row("POST", f"{ORGANIZATION}/settings", MANAGERS),
    Row("POST", f"{ORGANIZATION}/transfer", OWNER),
    Row("POST", f"{ORGANIZATION}/status", MANAGERS),
    Row("POST", f"{ORGANIZATION}/delete", OWNER),
    Row("GET", f"{ORGANIZATION}/service-accounts", MANAGERS),
    *(Row("POST", f"{ORGANIZATION}/service-accounts{path}", MANAGERS) for path in ("", "/rotate", "/revoke")),
    Row("GET", WEBHOOKS, MANAGERS),
    Row("POST", WEBHOOKS, MANAGERS),
    Row("GET", f"{WEBHOOKS}/:webhook_id", MANAGERS),
    *(
        Row("POST", f"{WEBHOOKS}/:webhook_id/{name}", MANAGERS)
        for name in ("settings", "state", "test", "rotate", "recover", "delete")
    ),
    Row("GET", f"{WEBHOOKS}/:webhook_id/deliveries/:delivery_id", MANAGERS),
    Row("POST", f"{WEBHOOKS}/:webhook_id/deliveries/:delivery_id/replay", MANAGERS),
    Row("GET", f"{ORGANIZATION}/connect", MANAGERS),
    Row("POST", f"{ORGANIZATION}/connect", MANAGERS),
    *(Row("POST", f"{ORGANIZATION}/connect/{name}", MANAGERS) for name in ("account", "clone", "archive")),
    Row("GET", f"{ORGANIZATION}/imports/:import_id", MANAGERS),
    *(
        Row("GET", f"{PROJECT}{path}", MEMBERS)
        for path in (
            *("", "/help", "/search", "/content/", "/content/:folder", "/edit/:file", "/conflict/:file"),
            *("/history", "/history/:file", "/media", "/preview", "/settings", "/new", "/new/:name"),
            *("/collections", "/collections/:name", "/data", "/thumbnail/:sha", "/undo/:sha", "/links", "/relations"),
            *("/images/:file", "/draft-image/:file", "/site", "/site/marks", "/site/field"),
        )
    ),
    Row("GET", f"{PROJECT}/activity", MEMBERS),
    *(
        Row("POST", f"{PROJECT}{path}", MEMBERS)
        for path in (
            *(
                "/reindex",
                "/propose-drafts",
                "/collections/:name",
                "/new",
                "/new/:name",
                "/bulk-delete",
                "/bulk-move",
                "/bulk-state",
                "/edit/:file",
                "/draft/:file",
                "/check-links/:file",
                "/translate/:file",
                "/duplicate/:file",
            ),
            *("/discard-draft/:file", "/conflict/:file", "/removed/:file", "/rename/:file", "/delete/:file"),
            *(
                "/restore/:file",
                "/undo/:sha",
                "/images/:file",
                "/media",
                "/media/delete",
                "/preview",
                "/preview/stop",
                "/site/misplaced",
                "/site",
                "/preview-text/:file",
                "/suggest-message/:file",
            ),
        )
    ),
    Row("GET", f"{PROJECT}/changes", MEMBERS),
    Row("POST", f"{PROJECT}/changes", MEMBERS),
    *(
        Row("GET", f"{PROJECT}/changes/:change_set_id{path}", SET)
        for path in ("", "/pages/:file", "/schedule", "/conflicts", "/site", "/site/page", "/open-site", "/links")
    ),
    *(
        Row("POST", f"{PROJECT}/changes/:change_set_id/{path}", SET)
        for path in (
            *("details", "submit", "review", "comments", "comments/:comment_id", "move", "publish", "schedule"),
            *("unschedule", "close", "conflicts", "site", "comments/:comment_id/reply", "links"),
            "links/:link_id/revoke",
        )
    ),
    *(Row("GET", f"/review/:secret{path}", ANYONE) for path in ("", "/texts")),
    *(Row("POST", f"/review/:secret/{path}", ANYONE) for path in ("password", "name", "comments", "verdict")),
    Row("POST", f"{PROJECT}/settings/publishing", MANAGERS),
    *(Row("POST", f"{PROJECT}{path}", MANAGERS) for path in ("/settings", "/status", "/delete-project", "/connection")),
    Row("POST", f"{PROJECT}/move-project", OWNER),
    Row("GET", f"{PROJECT}/connect", MEMBERS),
    *(Row("GET", f"{PROJECT}/rebuild{path}", MANAGERS) for path in ("", "/:hook_id")),
    *(
        Row("POST", f"{PROJECT}/{path}", MANAGERS)
        for path in ("rebuild", "rebuild/:hook_id/test", "rebuild/:hook_id/url", "rebuild-hint")
    ),
    *(
        Row("GET", f"/console/account{path}", VERIFIED)
        for path in ("", "/sessions", "/preferences", "/notices", "/tokens", "/connections", "/billing")
    ),
    *(
        Row("POST", f"/console/account/{path}", VERIFIED)
        for path in (
            *(
                "profile",
                "password",
                "delete",
                "sessions/end",
                "preferences",
                "notices",
                "time-zone",
                "connections/remove",
            ),
            *("tokens", "tokens/rotate", "tokens/revoke", "billing/cancel"),
        )
    ),
    *(Row("GET", f"/console/admin{path}", PLATFORM) for path in ("", "/users", "/jobs", "/indexes")),
    Row("POST", "/console/admin/jobs/retry", PLATFORM),
)
