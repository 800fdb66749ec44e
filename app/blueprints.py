"""The blueprints of both surfaces in the order of the specification, and the declarations that concern all of them.

The REST routes are under /api/v1, the handlers under /api.
"""

from flask import Blueprint, Flask

from app.console.routes import ROOT as CONSOLE
from app.console.routes import blueprint as console
from app.console.shell.mail_links import blueprint as console_links
from app.http.blueprint import EXTENSION, ApiOverview
from app.http.endpoint import find_endpoint
from app.resources.ai.routes import blueprint as ai
from app.resources.ai.routes import usage_blueprint as ai_usage
from app.resources.api_token.routes.service_accounts import blueprint as service_account
from app.resources.api_token.routes.tokens import blueprint as api_token
from app.resources.auth.routes.account import blueprint as auth_account
from app.resources.auth.routes.email import blueprint as auth
from app.resources.auth.routes.social import blueprint as auth_social
from app.resources.bucket.routes import blueprint as bucket
from app.resources.bucket.routes import media
from app.resources.git_provider.routes.credentials import blueprint as git_provider
from app.resources.git_provider.routes.exchange import blueprint as git_exchange
from app.resources.order.routes import blueprint as order
from app.resources.organization.routes import blueprint as organization
from app.resources.organization.schemas import OwnedOrganizationsSchema
from app.resources.project.routes.projects import blueprint as project
from app.resources.project.routes.pull_requests import blueprint as pull_requests
from app.resources.project.schemas import UnknownBranchSchema
from app.resources.project_content.routes import blueprint as project_content
from app.resources.project_content.schemas.results import InvalidFrontMatterSchema, SaveConflictSchema
from app.resources.project_draft.routes import blueprint as project_draft
from app.resources.project_log.routes import blueprint as project_log
from app.resources.project_preview.routes import blueprint as project_preview
from app.resources.project_schema.routes import blueprint as project_schema
from app.resources.sandbox.routes import blueprint as sandbox
from app.resources.sandbox.schemas import FailedStartSchema
from app.resources.system.routes import blueprint as system
from app.resources.user.routes import blueprint as user
from app.resources.user_preference.routes import blueprint as user_preference
from app.resources.webhooks.routes.billing import blueprint as billing_webhooks
from app.resources.webhooks.routes.git import blueprint as git_webhooks

UNVERSIONED: tuple[tuple[str, Blueprint], ...] = (("", system), ("", media), (CONSOLE, console), ("", console_links))

VERSIONED: tuple[tuple[str, Blueprint], ...] = (
    ("/auth", auth),
    ("/auth", auth_social),
    ("/auth", auth_account),
    ("/user", user),
    ("/organization", organization),
    ("/organization", service_account),
    ("/tokens", api_token),
    ("/user-preference", user_preference),
    ("/project", project),
    ("/project", pull_requests),
    ("/project-preview", project_preview),
    ("/git-provider", git_provider),
    ("/provider", git_provider),
    ("/project-content", project_content),
    ("/project", project_schema),
    ("/project-log", project_log),
    ("/project-draft", project_draft),
    ("/bucket", bucket),
    ("/order", order),
    ("/ai", ai_usage),
)

HANDLERS: tuple[tuple[str, Blueprint], ...] = (
    ("/auth", git_exchange),
    ("/ai", ai),
    ("/sandbox", sandbox),
    ("/webhooks", billing_webhooks),
    ("/webhooks", git_webhooks),
)

INTRODUCTION = """\
Galley stores the content of websites in Git. Users belong to organizations, connect repositories as projects, and \
browse
and edit the files. Every save is one commit. A save is refused with the paths if another user changed the files.

**Sign in.** `POST /api/v1/auth/sign-in/email` sets a session cookie. Send the cookie with every other request. \
A browser
page of another origin needs an origin in `ALLOWED_ORIGINS`. A program sends `Authorization: Bearer` with an API token
instead; the operation names the scopes of which the token needs one.

**Envelope.** A success is `{statusCode, success: true, message, result}`. A failure is `{statusCode, success: false,
message, errorMessage, code}`. Programs compare `code`. `errorMessage` lists the invalid fields with dotted paths. Below
`/api/v1/auth` and below `/api` without a version, the keys of `result` are repeated at the top level.

**Lists.** Paginated lists accept `limit` and `cursor`. `meta.next_cursor` is the cursor of the next page or null.

**Repetition.** A signed-in write with an `Idempotency-Key` has its effect once.

**Versions.** Reads return an `ETag`. `If-None-Match` avoids a second transfer. \
`If-Match` refuses a change of a newer object.

**Rates.** A signed-in user may send 600 requests and 120 writes per minute. Operations with other rates name them.
A refused request is 429 with `Retry-After` in seconds.
"""


class FailureDataSchema(
    FailedStartSchema, OwnedOrganizationsSchema, InvalidFrontMatterSchema, UnknownBranchSchema, SaveConflictSchema
):
    """The data that the caller needs to continue.

    A refused save has `head_sha` and `paths`, or `invalid`. An unknown branch has `branches`. A refused deletion
    of an account has `organizations`. A failed start of a preview has the other fields.
    """

    COMPONENT = "http_FailureData"


FIELDS: dict[str, str] = {
    "access_token_expires_at": "The time at which the access token expires, or null if it does not.",
    "additions": "The number of added lines.",
    "apiKey": "A key of the AI provider for this request. Without it the key of the operator is used.",
    "base_blob_sha": "The blob of the file on which the change is based, or null for a new file.",
    "base_sha": "The commit on which the change is based: `commit_sha` of the tree that the user saw.",
    "branch": "The name of a branch.",
    "commitSha": "The 40 hexadecimal digits of a commit.",
    "commit_sha": "The 40 hexadecimal digits of a commit.",
    "createdAt": "The time of the creation.",
    "deleted": "True after the deletion.",
    "deletions": "The number of removed lines.",
    "email": "An e-mail address.",
    "expiresAt": "The time at which it ends.",
    "file": "The path of a file, as it is in Git.",
    "file_type": "The extension of the file.",
    "front_matter": "The values of the front matter, or null if the file has none.",
    "generator": "The generator of the site, or null if it is unknown.",
    "id": "The id of the object.",
    "indexed_at": "The time of the last complete index.",
    "language": "The language of a text as a short code.",
    "last_used_at": "The time of the last use.",
    "model": "The name of a model of the AI provider.",
    "org_id": "The id of an organization.",
    "organization_id": "The id of an organization.",
    "path": "The path of a file, as it is in Git.",
    "previewUrl": "The address of the preview with a token that opens it.",
    "previous_path": "The path before the file was moved.",
    "projectId": "The id of a project.",
    "project_id": "The id of a project.",
    "provider": "The name of an external service.",
    "refresh_token_expires_at": "The time at which the refresh token expires, or null if it does not.",
    "repository": "The owner and the name of a repository, separated by a slash.",
    "repository_id": "The id of the repository at its provider.",
    "sandboxId": "The id of the sandbox of a preview.",
    "sandboxName": "The name of the sandbox of a preview. It is part of the address.",
    "sha": "The 40 hexadecimal digits of a commit or blob.",
    "size": "The number of bytes.",
    "title": "The title of a page.",
    "updatedAt": "The time of the last change.",
    "url": "An address of the web.",
    "user_id": "The id of a user.",
    "user_name": "The name of a user.",
}
"""Descriptions of the fields that have one meaning in all resources. The description of a field itself has priority."""

OVERVIEW = ApiOverview(
    introduction=INTRODUCTION,
    first_tags=(system, media, auth, auth_social, auth_account, api_token, service_account),
    failure_data=FailureDataSchema,
    flat_prefixes=("/api/v1/auth/",),
    fields=FIELDS,
)


def register(app: Flask) -> None:
    """Register every blueprint and check that each route has a declaration.

    Raises:
        RuntimeError: a route has no `@endpoint`.
    """
    app.extensions[EXTENSION] = OVERVIEW
    for base, table in (("", UNVERSIONED), ("/api/v1", VERSIONED), ("/api", HANDLERS)):
        for prefix, blueprint in table:
            mounted = blueprint.name in app.blueprints
            name = f"{blueprint.name}{prefix.replace('/', '_')}" if mounted else blueprint.name
            app.register_blueprint(blueprint, url_prefix=f"{base}{prefix}" or None, name=name)
    _check_declared(app, {blueprint.name for table in (UNVERSIONED, VERSIONED, HANDLERS) for _, blueprint in table})


def _check_declared(app: Flask, ours: set[str]) -> None:
    undeclared = [
        name for name, view in app.view_functions.items() if name.split(".")[0] in ours and find_endpoint(view) is None
    ]
    if undeclared:
        raise RuntimeError(f"routes without @endpoint: {', '.join(sorted(undeclared))}")
