"""The page "Connect" of a project: its Git address, the deploy hooks and the webhooks that its changes reach."""

from typing import Any

from flask import Response

from app.access.scope import ProjectScope
from app.console.blueprint import blueprint
from app.console.files.scope import BASE, MEMBER
from app.console.organization.webhooks import with_newest_delivery
from app.console.shell.pages import Page
from app.console.shell.rendering import page
from app.core.permissions import Permission, grants
from app.extensions import current_settings, keyring
from app.models.outbound_webhook import WebhookFormat
from app.resources.git_push.addresses import clone_url
from app.resources.outbound_webhook import queries, responses

PATH = "/connect"


@blueprint.get(f"{BASE}{PATH}")
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
    if not grants(scope.role, Permission.MANAGE_ORG):
        return []
    listed = [responses.shown(row, keyring) for row in queries.of_organization(scope.organization.id)]
    mine = [webhook for webhook in listed if webhook["project_id"] in (None, scope.project.id)]
    return with_newest_delivery(scope.organization.id, mine)
