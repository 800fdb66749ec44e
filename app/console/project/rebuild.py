"""The page "Connect" of a project, and the assistant "Rebuild my site".

The page shows the Git address, the deploy hooks and the webhooks of the project. The assistant creates and tests a
deploy hook of Netlify, Vercel, Cloudflare Pages or another host.
"""

from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote

from flask import Response
from marshmallow import fields, validate

from app.access import authentication
from app.access.guards import project_permission
from app.access.scope import ProjectScope
from app.console.blueprint import blueprint
from app.console.files.scope import BASE, MEMBER, project_url
from app.console.organization import webhooks
from app.console.organization.webhooks import failure_text, with_newest_delivery
from app.console.shell.forms import Form
from app.console.shell.frame import REBUILD_COOKIE
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.core.errors import NotFound
from app.core.permissions import Permission, grants
from app.extensions import current_settings, keyring
from app.http.validation import Length, RequestQuery
from app.models.outbound_webhook import DeliveryState, WebhookFormat, WebhookState
from app.resources.git_push.addresses import clone_url
from app.resources.outbound_webhook import queries, responses

CONNECT = "/connect"


@blueprint.get(f"{BASE}{CONNECT}")
@Page(guard=MEMBER)
def project_connect(*, scope: ProjectScope) -> Response:
    """Show the Git address of the project. Owners and admins see its hooks as well."""
    project, hooks = scope.project, _hooks(scope)
    return page(
        "project/connect.html",
        git_url=clone_url(project.provider, project.repository, current_settings()) if project.repository else None,
        deploy_hooks=[hook for hook in hooks if hook["format"] == WebhookFormat.EMPTY],
        webhooks=[hook for hook in hooks if hook["format"] == WebhookFormat.STANDARD],
    )


def _hooks(scope: ProjectScope) -> list[dict[str, Any]]:
    """Return the webhooks of the project and those of all projects. Editors see none."""
    if not grants(scope.organization_role, Permission.MANAGE_ORG):
        return []
    listed = [responses.shown(row, keyring) for row in queries.of_organization(scope.organization.id)]
    mine = [webhook for webhook in listed if webhook["project_id"] in (None, scope.project.id)]
    return with_newest_delivery(scope.organization.id, mine)


URL = f"{BASE}/rebuild"
HOOK_URL = f"{URL}/<hook_id>"
GUARD = project_permission(Permission.MANAGE_ORG, "project_id")
REFRESH_S = 3
"""Interval in which a browser reloads the page of a request that has no result yet."""

HINT_S = 180 * 86_400
OTHER = "other"


@dataclass(frozen=True)
class BuildHost:
    """A host that builds sites: its name, and the menu, the section and the button that lead to its deploy hooks."""

    name: str
    menu: str
    section: str
    button: str


HOSTS = {
    "netlify": BuildHost("Netlify", "Project configuration › Build & deploy", "Build hooks", "Add build hook"),
    "vercel": BuildHost("Vercel", "Settings › Git", "Deploy Hooks", "Create Hook"),
    "cloudflare": BuildHost("Cloudflare Pages", "Settings › Builds", "Deploy hooks", "Add deploy hook"),
}


@dataclass(frozen=True, kw_only=True)
class RebuildQuery(RequestQuery):
    """The host of the site."""

    host: Annotated[str, fields.String(load_default="netlify", validate=validate.OneOf([*HOSTS, OTHER]))]


@dataclass(frozen=True, kw_only=True)
class RequestedBuildQuery(RequestQuery):
    """The request of a build. Without it, the newest one is shown."""

    delivery: Annotated[str, fields.String(load_default="", validate=Length(max=40))]


@blueprint.get(URL)
@Page(guard=GUARD, query=RebuildQuery)
def rebuild(*, scope: ProjectScope, query: RebuildQuery) -> Response:
    """Show where the URL of the deploy hook is at the host, and its input."""
    project = scope.project
    is_local = project.is_local and project.repository
    return page(
        "project/rebuild.html",
        hosts=HOSTS,
        chosen=query.host,
        host=HOSTS.get(query.host),
        git_url=clone_url(project.provider, project.repository, current_settings()) if is_local else None,
    )


@blueprint.post(URL)
@Page(guard=GUARD, query=RebuildQuery, inputs=("url",), shown_by="rebuild")
def create_deploy_hook(*, scope: ProjectScope, query: RebuildQuery, form: Form) -> Response:
    """Create a deploy hook and request a build."""
    data = {
        "url": form.text("url"),
        "format": str(WebhookFormat.EMPTY),
        "project_id": scope.project.id,
        "description": HOSTS[query.host].name if query.host in HOSTS else "",
    }
    return _request_build(scope, webhooks.create_hook(scope.organization.id, data)["id"])


@blueprint.get(HOOK_URL)
@Page(guard=GUARD, query=RequestedBuildQuery)
def requested_build(*, scope: ProjectScope, query: RequestedBuildQuery) -> Response:
    """Show whether the host has accepted the request of a build."""
    hook = _read_hook(scope)
    newest = queries.newest_deliveries(scope.organization.id).get(hook["id"])
    delivery_id = query.delivery or (newest[0].id if newest is not None else None)
    delivery = webhooks.read_delivery(hook["id"], delivery_id) if delivery_id else None
    refusal = failure_text(delivery["attempts"][0]) if delivery is not None and delivery["attempts"] else ""
    is_open = delivery is not None and delivery["state"] == DeliveryState.WAITING and not refusal
    refresh_s = REFRESH_S if is_open and hook["state"] == WebhookState.ACTIVE else None
    return page("project/requested_build.html", refresh_s=refresh_s, hook=hook, delivery=delivery, refusal=refusal)


@blueprint.post(f"{HOOK_URL}/test")
@Page(guard=GUARD, inputs=(), shown_by="requested_build")
def request_build(*, scope: ProjectScope, form: Form) -> Response:
    """Request a build."""
    return _request_build(scope, _read_hook(scope)["id"])


@blueprint.post(f"{HOOK_URL}/url")
@Page(guard=GUARD, inputs=("url",), shown_by="requested_build")
def correct_deploy_hook(*, scope: ProjectScope, form: Form) -> Response:
    """Replace the URL of the deploy hook, activate it and request a build."""
    hook, data = _read_hook(scope), {"url": form.text("url"), "state": str(WebhookState.ACTIVE)}
    webhooks.change_hook(hook["id"], data)
    return _request_build(scope, hook["id"])


@blueprint.post(f"{BASE}/rebuild-hint")
@Page(guard=GUARD, inputs=("file",))
def hide_rebuild_hint(*, scope: ProjectScope, form: Form) -> Response:
    """Do not show the hint after a save again in this browser, and return to the file."""
    file = form.text("file")
    response = see_other(project_url(scope, f"/edit/{quote(file)}" if file else CONNECT))
    response.set_cookie(
        REBUILD_COOKIE,
        "hidden",
        max_age=HINT_S,
        path=project_url(scope),
        httponly=True,
        samesite="Lax",
        secure=authentication.is_https(),
    )
    return response


def _request_build(scope: ProjectScope, hook_id: str) -> Response:
    return see_other(project_url(scope, f"/rebuild/{hook_id}?delivery={webhooks.send_test(hook_id)}"))


def _read_hook(scope: ProjectScope) -> dict[str, Any]:
    """Return the deploy hook of the URL. Raises NotFound, also for a hook of another project."""
    hook = webhooks.read_hook(scope.path["hook_id"])
    if hook["project_id"] != scope.project.id or hook["format"] != WebhookFormat.EMPTY:
        raise NotFound("The webhook does not exist")
    return hook
