"""The blueprints of both surfaces in the order of the specification, and the declarations that concern all of them.

The REST routes are under /api/v1, the handlers under /api.
"""

from flask import Blueprint, Flask

from app.console.account.provider_pages import blueprint as console_links
from app.console.routes import GUEST_ROOT as REVIEW
from app.console.routes import ROOT as CONSOLE
from app.console.routes import blueprint as console
from app.console.routes import guest_blueprint as review
from app.http.blueprint import EXTENSION, ApiOverview, DocumentedEvent
from app.http.endpoint import find_endpoint
from app.resources.ai.routes import blueprint as ai
from app.resources.ai.routes import usage_blueprint as ai_usage
from app.resources.api_token.routes.service_accounts import blueprint as service_account
from app.resources.api_token.routes.tokens import blueprint as api_token
from app.resources.auth.passkeys.routes import blueprint as auth_passkeys
from app.resources.auth.routes.account import blueprint as auth_account
from app.resources.auth.routes.email import blueprint as auth
from app.resources.auth.routes.social import blueprint as auth_social
from app.resources.auth.two_factor.routes import blueprint as auth_two_factor
from app.resources.auth.two_factor.routes import member_blueprint as auth_two_factor_members
from app.resources.bucket.routes import blueprint as bucket
from app.resources.bucket.routes import media
from app.resources.change_set.routes import blueprint as change_set
from app.resources.change_set.routes import project_blueprint as project_change_sets
from app.resources.change_set.schemas import ChangeSetFailureSchema
from app.resources.git_provider.routes.credentials import blueprint as git_provider
from app.resources.git_provider.routes.exchange import blueprint as git_exchange
from app.resources.order.routes import blueprint as order
from app.resources.organization.routes import blueprint as organization
from app.resources.organization.schemas import OwnedOrganizationsSchema
from app.resources.outbound_webhook.routes import blueprint as outbound_webhook
from app.resources.outbound_webhook.schemas.events import event_types
from app.resources.project.routes.projects import blueprint as project
from app.resources.project.routes.pull_requests import blueprint as pull_requests
from app.resources.project.schemas import UnknownBranchSchema
from app.resources.project_content.routes import blueprint as project_content
from app.resources.project_content.schemas.results import InvalidFrontMatterSchema, SaveConflictSchema
from app.resources.project_draft.routes import blueprint as project_draft
from app.resources.project_log.routes import blueprint as project_log
from app.resources.project_preview.routes import blueprint as project_preview
from app.resources.project_schema.routes import blueprint as project_schema
from app.resources.review_link.routes import blueprint as review_link
from app.resources.review_link.routes import set_blueprint as change_set_links
from app.resources.sandbox.routes import blueprint as sandbox
from app.resources.sandbox.schemas import FailedStartSchema
from app.resources.site_build.routes import blueprint as site_build
from app.resources.site_build.routes import project_blueprint as project_builds
from app.resources.site_build.routes import set_blueprint as change_set_builds
from app.resources.site_build.schemas import StorageLimitSchema
from app.resources.system.routes import blueprint as system
from app.resources.user.routes import blueprint as user
from app.resources.user_preference.routes import blueprint as user_preference
from app.resources.webhooks.routes.billing import blueprint as billing_webhooks
from app.resources.webhooks.routes.git import blueprint as git_webhooks

UNVERSIONED: tuple[tuple[str, Blueprint], ...] = (
    ("", system),
    ("", media),
    (CONSOLE, console),
    (REVIEW, review),
    ("", console_links),
)

VERSIONED: tuple[tuple[str, Blueprint], ...] = (
    ("/auth", auth),
    ("/auth", auth_social),
    ("/auth", auth_account),
    ("/auth", auth_passkeys),
    ("/auth/two-factor", auth_two_factor),
    ("/organization", auth_two_factor_members),
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
    ("/project", project_change_sets),
    ("/change-set", change_set),
    ("/project", project_builds),
    ("/build", site_build),
    ("/change-set", change_set_builds),
    ("/change-set", change_set_links),
    ("/review-link", review_link),
    ("/project-log", project_log),
    ("/project-draft", project_draft),
    ("/bucket", bucket),
    ("/order", order),
    ("/ai", ai_usage),
    ("", outbound_webhook),
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

**Lists.** Lists accept `limit` and `cursor`. `meta.next_cursor` is the cursor of the next page or null.

**Repetition.** A signed-in write with an `Idempotency-Key` has its effect once.

**Versions.** Reads return an `ETag`. `If-None-Match` avoids a second transfer. \
`If-Match` refuses a change of a newer object.

**Rates.** A signed-in user may send 600 requests and 120 writes per minute. Operations with other rates name them.
A refused request is 429 with `Retry-After` in seconds.
"""


class FailureDataSchema(
    FailedStartSchema,
    OwnedOrganizationsSchema,
    InvalidFrontMatterSchema,
    UnknownBranchSchema,
    SaveConflictSchema,
    ChangeSetFailureSchema,
    StorageLimitSchema,
):
    """The data that the caller needs to continue.

    A refused save has `head_sha` and `paths`, or `invalid`. An unknown branch has `branches`. A refused deletion
    of an account has `organizations`. A step of a change set has `state` and `permitted`, a second revert has the
    `change_set_id` of the first one, and a time that cannot be scheduled has its neighbours. A full storage for builds
    has `used` and `limit`. A failed start of a preview has the other fields.
    """

    COMPONENT = "http_FailureData"


FIELDS: dict[str, str] = {
    "access_token_expires_at": "The time at which the access token expires, or null if it does not.",
    "accountId": "The id of the account at its provider.",
    "accounts": "The ways to sign in: the password and linked accounts.",
    "active_package": "The plan of the active subscription, or null.",
    "active_subscriptions": "The number of active paying subscriptions at `to`.",
    "additions": "The number of added lines.",
    "allowed": "Whether one more can be created.",
    "amount": "The amount in the smallest unit of `currency`, for example cents.",
    "apiKey": "A key of the AI provider for this request. Without it the key of the operator is used.",
    "arpu": "`mrr` divided by the number of active paying subscriptions, in the smallest unit of the currency.",
    "arr": "Twelve times `mrr`, in the smallest unit of the currency.",
    "base_blob_sha": "The blob of the file on which the change is based, or null for a new file.",
    "base_sha": "The commit on which the change is based: `commit_sha` of the tree that the user saw.",
    "billing_period": "The period of the plan that the visitor chose, as text.",
    "blockId": "The id of the block of the editor to which the comment belongs.",
    "branch": "The name of a branch.",
    "callbackURL": "The page to which the sign-in leads: a path, or a URL of an allowed origin.",
    "cancel_at": "The time at which a cancelled subscription ends, or null.",
    "canceled_subscriptions": "The number of subscriptions that ended between `from` and `to`.",
    "checkout_url": "The page of the payment provider on which the payer continues, or null.",
    "churn_rate": "`canceled_subscriptions` divided by the active ones at `from`, as a fraction.",
    "client_token": "The token for the payment provider's script in the browser, or null.",
    "co_authors": "The people of the `Co-authored-by` lines of the message.",
    "commitSha": "The 40 hexadecimal digits of a commit.",
    "commit_sha": "The 40 hexadecimal digits of a commit.",
    "conflict": "Whether the file on the branch differs from the one on which the draft is based.",
    "connected_by": "The user whose credential the project uses, or null.",
    "country": "A country code of two letters (ISO 3166).",
    "createdAt": "The time of the creation.",
    "currencies": "The figures of each currency, by its code.",
    "currency": "A currency code of three letters (ISO 4217).",
    "currentPassword": "The present password of the account.",
    "current_blob_sha": "The blob of the file on the branch now, or null if there is no such file.",
    "current_period_end": "The end of the paid period, or null.",
    "dead": "The number of jobs that failed permanently.",
    "deleted": "True after the deletion.",
    "deletions": "The number of removed lines.",
    "delta": "The next part of the text.",
    "email": "An e-mail address.",
    "emailVerified": "Whether the user has proved that the address is theirs.",
    "errorCallbackURL": "The page to which a failed sign-in leads, with the parameter `error`.",
    "errorText": "A sentence for people.",
    "event_id": "The id of the notification at the payment provider.",
    "expiresAt": "The time at which it ends.",
    "file": "The path of a file, as it is in Git.",
    "file_type": "The extension of the file.",
    "finishReason": "The reason why the model stopped.",
    "forceSync": "Replace the files of a running preview by the head of the branch.",
    "framework": "The framework of the site, or null if it is unknown.",
    "front_matter": "The values of the front matter, or null if the file has none.",
    "generator": "The generator of the site, or null if it is unknown.",
    "handler": "The name of the AI handler, the last segment of its path.",
    "has_newline": "Whether the line ends with a line break. False only for the last line of a file.",
    "has_password": "Whether the account has a password. Accounts of a social sign-in may have none.",
    "hint": "A sentence about the remedy.",
    "id": "The id of the object.",
    "impersonate": "True: commits name the bot alone. False: they name the person as a co-author.",
    "indexed_at": "The time of the last complete index.",
    "inputTokens": "The number of tokens that were sent to the model.",
    "input_tokens": "The number of tokens that were sent to the model.",
    "installation_access_token": "The access token of the installation at the Git host.",
    "installation_id": "The number of the installation of the app at the Git host.",
    "instruction": "The requested change in the words of the user.",
    "instructions": "Rules for the model that precede the text.",
    "invoice_url": "The page of the invoice, or null.",
    "ipAddress": "The address of the client at the sign-in.",
    "joined_at": "The time at which the user became a member, or null for an invitation.",
    "label": "The name that people see.",
    "lag_s": "The seconds that the oldest due job has waited.",
    "language": "The language of a text as a short code.",
    "last_refreshed_at": "The time of the last new access token, or null.",
    "last_used_at": "The time of the last use.",
    "locale": "The language of the result, for example `en` or `pt-BR`.",
    "log_tail": "The end of the log, at most 4 KiB.",
    "marks": "Pairs of offsets in the text of the snippet: start and end of each match.",
    "mediaType": "The media type of the file.",
    "merged": "True after the merge.",
    "mimetype": "The media type of the stored image.",
    "model": "The name of a model of the AI provider.",
    "mrr": "What active paying subscriptions bill per month, in the smallest unit of the currency.",
    "net_revenue": "`revenue` without `refunds`, in the smallest unit of the currency.",
    "newPassword": "The new password: at most 512 bytes, and not a common one.",
    "old_refresh_token": "The refresh token that the stored credential has.",
    "onlyIfActive": "Return the running preview, and start none.",
    "org_id": "The id of an organization.",
    "org_image": "The key of an upload, or null.",
    "org_name": "The name of the organization. It is unique for its owner.",
    "organization_id": "The id of an organization.",
    "otp": "The six digits of the mail.",
    "outputTokens": "The number of tokens that the model wrote.",
    "output_tokens": "The number of tokens that the model wrote.",
    "own_key": "Whether the calls used a key of the user instead of the operator's.",
    "password": "The password of the account.",
    "path": "The path of a file, as it is in Git.",
    "path_with_namespace": "The group and the name of the repository, separated by a slash.",
    "pre_orders": "The number of pre-orders between `from` and `to`.",
    "previewUrl": "The address of the preview with a token that opens it.",
    "preview_network": "Whether the preview of the project may connect to public addresses.",
    "preview_url": "The address of the preview.",
    "previous_path": "The path before the file was moved.",
    "projectCount": "The number of active projects.",
    "projectId": "The id of a project.",
    "project_id": "The id of a project.",
    "project_image": "The key of an upload, or null.",
    "project_name": "The name of the project. It is unique in the organization.",
    "protected": "Whether the Git host protects the branch.",
    "provider": "The name of an external service.",
    "provider_account": "The account at the Git host.",
    "provider_subscription_id": "The id of the subscription at the payment provider.",
    "redirectTo": "The page to which the mailed link leads, of an allowed origin. Without it the link leads to "
    "the page of the service.",
    "refresh_token_expires_at": "The time at which the refresh token expires, or null if it does not.",
    "refunds": "Approved refunds, in the smallest unit of the currency.",
    "remaining": "The number that can still be created.",
    "rememberMe": "False ends the session with the browser.",
    "renames_followed": "False if the Git host ends the history of a file at its last rename.",
    "repository": "The owner and the name of a repository, separated by a slash.",
    "repository_id": "The id of the repository at its provider.",
    "required": "Whether an entry must have a value.",
    "resets_at": "The time at which the budget starts anew.",
    "revenue": "Completed transactions before refunds, in the smallest unit of the currency.",
    "revokeOtherSessions": "End all other sessions of the user.",
    "sandboxId": "The id of the sandbox of a preview.",
    "sandboxName": "The name of the sandbox of a preview. It is part of the address.",
    "sandbox_id": "The id of the sandbox of the preview.",
    "sandbox_name": "The name of the sandbox. It is part of the address of the preview.",
    "score": "The rank of the hit. A larger one is a better match.",
    "sha": "The 40 hexadecimal digits of a commit or blob.",
    "site_url": "The public address of the site, or null.",
    "size": "The number of bytes.",
    "subscribed": "Whether the user receives the newsletter.",
    "subscription_id": "The id of the subscription. The service also accepts that of the payment provider.",
    "title": "The title of a page.",
    "token_hint": "The last four characters of the token.",
    "tokens_a_day": "The number of tokens that a user may spend in a day.",
    "toolCallId": "The id of the tool call, the same in its input and its output.",
    "totalTokens": "The sum of input and output tokens.",
    "transaction_id": "The id of the transaction at the payment provider.",
    "trialing_subscriptions": "The number of subscriptions in a trial at `to`.",
    "uncommittedSynced": "Whether the unsaved file was written to the preview.",
    "unset": "The keys that are removed.",
    "updatedAt": "The time of the last change.",
    "uptime": "The seconds since the start of the process.",
    "url": "An address of the web.",
    "urls": "Addresses of the preview by name.",
    "used": "The part of the limit that is used.",
    "userAgent": "The header `User-Agent` of the sign-in.",
    "userId": "The id of a user.",
    "user_id": "The id of a user.",
    "user_name": "The name of a user.",
    "waiting": "The number of jobs that wait.",
    "worker_seen_s": "The seconds since the last sign of a worker, or null if there was none.",
}
"""Descriptions of the fields that have one meaning in all resources. The description of a field itself has priority."""

OVERVIEW = ApiOverview(
    introduction=INTRODUCTION,
    first_tags=(system, media, auth, auth_social, auth_account, auth_passkeys, api_token, service_account),
    failure_data=FailureDataSchema,
    flat_prefixes=("/api/v1/auth/",),
    fields=FIELDS,
    events=tuple(
        DocumentedEvent(event.name, event.description, event.data, event.example) for event in event_types.values()
    ),
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
