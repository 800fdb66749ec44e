"""Texts of the document: introduction, tags, parameters and permissions."""

from app.core.clock import format_duration
from app.core.rates import Rate, RateLimits
from app.http.endpoint import Endpoint

INTRODUCTION = """\
Galley stores the content of websites in Git. Users belong to organizations, connect repositories as projects, and browse
and edit the files. Every save is one commit. A save is refused with the paths if another user changed the files.

**Sign in.** `POST /api/v1/auth/sign-in/email` sets a session cookie. Send the cookie with every other request. A browser
page of another origin needs an origin in `ALLOWED_ORIGINS`. A program sends `Authorization: Bearer` with an API token
instead; the operation names the scopes of which the token needs one.

**Envelope.** A success is `{statusCode, success: true, message, result}`. A failure is `{statusCode, success: false,
message, errorMessage, code}`. Programs compare `code`. `errorMessage` lists the invalid fields with dotted paths. Below
`/api/v1/auth` and below `/api` without a version, the keys of `result` are repeated at the top level.

**Lists.** Paginated lists accept `limit` and `cursor`. `meta.next_cursor` is the cursor of the next page or null.

**Repetition.** A signed-in write with an `Idempotency-Key` has its effect once.

**Versions.** Reads return an `ETag`. `If-None-Match` avoids a second transfer. `If-Match` refuses a change of a newer object.

**Rates.** A signed-in user may send 600 requests and 120 writes per minute. Operations with other rates name them.
A refused request is 429 with `Retry-After` in seconds.
"""

TAGS: dict[str, tuple[str, str]] = {
    "system": ("System", "State of the service."),
    "media": ("Images", "Delivery of uploaded images."),
    "auth": ("Sign-in", "Accounts with a password: sign-up, codes by mail, sign-in and session."),
    "auth_social": ("Social sign-in", "Sign-in with an account of a code host or another provider."),
    "auth_account": ("Passwords and sessions", "Change and reset of passwords, list and end of sessions."),
    "api_token": (
        "API tokens",
        "Personal tokens for programs. Only the response of a creation or rotation has the secret.",
    ),
    "service_account": ("Service accounts", "API tokens of an organization that its owners and admins manage."),
    "user": ("Users", "The profile, limits and deletion of an account."),
    "organization": ("Organizations", "Groups of users that own projects. Members are owner, admin or editor."),
    "user_preference": ("Preferences", "Theme, language, time zone and attribution of commits of a user."),
    "project": ("Projects", "Repositories that are edited as sites, and their branches."),
    "pull_requests": ("Pull requests", "Pull requests and merge requests at the Git host of a project."),
    "project_preview": ("Preview records", "The preview of a project that is shown to its members."),
    "git_provider": ("Git accounts", "Accounts at Git hosts and their repositories. No response contains a token."),
    "project_content": ("Content", "Files of a branch: tree, metadata, bytes, search and saves."),
    "project_schema": ("Content schemas", "Collections of a branch with typed fields of the front matter."),
    "project_log": ("Activity", "Changes of the files of a project, newest first."),
    "project_draft": ("Drafts", "Unsaved text of a user for a file. Each user sees the own drafts only."),
    "bucket": ("Uploads", "Upload and deletion of images."),
    "order": ("Billing", "Orders, subscriptions and revenue."),
    "ai_usage": ("AI usage", "Tokens that a user has used, and the daily budget."),
    "git_exchange": ("Connection of Git accounts", "The OAuth exchange with a Git host."),
    "ai": ("AI", "Writing, completion and chat with a language model."),
    "sandbox": ("Previews", "Sandboxes that run a site for a preview."),
    "webhooks_billing": ("Payment notifications", "Events that the payment provider sends."),
    "webhooks_git": ("Git notifications", "Push events that Git hosts send."),
}
"""Title and description of each tag. A tag is the name of a blueprint."""

PARAMETERS: dict[str, str] = {
    "action": "Only entries of this action.",
    "base": "The older commit or branch.",
    "branch": "The name of a branch. The default is the working branch.",
    "code": "The authorization code of the provider.",
    "currency": "An ISO 4217 code. Only figures of this currency.",
    "cursor": "`meta.next_cursor` of the previous page.",
    "error": "The error of the provider, instead of a code.",
    "file": "The path of a file, as it is in Git.",
    "folder": "The folder of the files.",
    "from": "The first day.",
    "key": "The key of an image from its upload. It may contain slashes.",
    "head": "The newer commit or branch.",
    "installation_id": "The id of the app installation at the Git host.",
    "limit": "The largest number of items. A value above the maximum is reduced to it.",
    "name": "The name of a branch. It may contain slashes.",
    "number": "The number of a pull request.",
    "path": "A folder. Only files below it.",
    "provider": "The Git host: `github`, `gitlab` or `local`.",
    "q": "The search terms.",
    "ref": "The name of a branch. The default is the working branch.",
    "s": "The signature of the URL of a smaller width.",
    "search": "A part of the name.",
    "state": "The one-time value of the start.",
    "status": "Only objects with this status.",
    "subscriptionId": "The id of a subscription, or the id at the payment provider.",
    "to": "The last day.",
    "type": "Only files of this type.",
    "w": "The width in pixels.",
}
"""Descriptions of path and query parameters without a description of their own."""

ID_PREFIXES: dict[str, tuple[str, str]] = {
    "org_id": ("org", "an organization"),
    "orgId": ("org", "an organization"),
    "projectId": ("prj", "a project"),
    "project_id": ("prj", "a project"),
    "userId": ("usr", "a user"),
}
"""Prefix and object of the ids in paths."""

_PERMISSIONS: dict[str, str] = {
    "public": "No sign-in is needed.",
    "public+rate": "No sign-in is needed. The rate per address is limited.",
    "public+state": "No sign-in is needed. The one-time state of the start is checked.",
    "public+token": "No sign-in is needed. The token of the mailed link is checked.",
    "public+signature": "No sign-in is needed. The signature of the sender is checked.",
    "session": "Needs a session. The e-mail address may be unverified.",
    "verifyAuth": "Needs a user with a verified e-mail address.",
    "verifyAuth+self": "Only for the user that the path names.",
    "verifyAuth+self+fresh": "Only for the user that the path names, with a recent sign-in or the password.",
    "verifyAuth, own row": "Needs a stored credential of the caller.",
    "verifyAuth + state": "Needs a user with a verified e-mail address. The state of the start is checked.",
    "memberOfOrg": "For all members of the organization that owns the project.",
    "verifyAuth; memberOfOrg if projectId given": "Needs a user with a verified e-mail address, and membership if a "
    "project is named.",
    "owner": "Only for the owner of the organization.",
    "owner,admin": "For owners and admins of the organization.",
    "owner,admin of body org": "For owners and admins of the organization in the body.",
    "owner,admin,editor": "For all members of the organization.",
    "org:DELETE_ORG on source AND destination": "Only for the owner of both organizations.",
    "org:MANAGE_PROJECTS of body org": "Needs the permission `org:MANAGE_PROJECTS` in the organization in the body.",
    "uploader, or MANAGE_ORG of the org the key is attached to": "For the user who uploaded the image, and for owners and "
    "admins of the organization that uses it.",
    "own token": "Only for the owner of the personal token.",
    "own subscription": "Only for the user who pays the subscription.",
    "platform admin": "Only for platform admins.",
}


def permission_text(spec_name: str) -> str:
    """Return who may call a route, as a sentence."""
    name = spec_name.replace(" (decided)", "")
    if name in _PERMISSIONS:
        return _PERMISSIONS[name]
    if name.startswith("org:") and " " not in name:
        return f"Needs the permission `{name}` in the organization."
    return f"Permission: {name}."


def rate_text(declared: Endpoint) -> str:
    """Return the rates of a route with its own row in the rate table, as a sentence."""
    rates = RateLimits()
    parts = [
        f"{', '.join(map(_rate, getattr(rates, name)))} per {counted}"
        for name, counted in ((declared.rate, "user"), (f"{declared.rate}_address", "client address"))
        if name and hasattr(rates, name)
    ]
    return f"Rate: {'; '.join(parts)}." if declared.rate and parts else ""


def _rate(rate: Rate) -> str:
    return f"{rate.times} in {format_duration(rate.per_s)}"


def parameter_text(name: str) -> str:
    """Return the description of a parameter, or an empty string."""
    if name in ID_PREFIXES:
        return f"The id of {ID_PREFIXES[name][1]}."
    return PARAMETERS.get(name, "")
