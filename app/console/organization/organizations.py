"""Pages of an organization: projects, members with invitations, settings."""

from flask import Response

from app.access.scope import OrganizationScope, Scope
from app.console.blueprint import ROOT, blueprint
from app.console.shell import api
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.core.permissions import Permission, grants
from app.extensions import current_settings
from app.http.endpoint import endpoint_of
from app.resources.organization import routes as organizations
from app.resources.project import imports
from app.resources.project.routes import projects

BASE = "/organizations/<org_id>"
VIEW = endpoint_of(organizations.details).guard
SETTINGS_SAVED = "/settings?done=saved"


def _change(scope: Scope, view: api.View, data: dict[str, str], done: str, *, method: str = "PATCH") -> Response:
    """Call a changing route of the organization and lead to a page of it."""
    api.write(view, scope.path, data, method=method)
    return see_other(f"{ROOT}/organizations/{scope.path['org_id']}{done}")


@blueprint.get(BASE)
@Page(guard=VIEW)
def organization(*, scope: OrganizationScope) -> Response:
    """Show the projects of an organization."""
    ids = {"orgId": scope.path["org_id"]}
    clones = imports.latest(scope.organization) if grants(scope.role, Permission.MANAGE_PROJECTS) else ()
    listed = api.read(projects.list_of_organization, ids, status="all")
    return page("organization/projects.html", projects=listed, imports=clones)


@blueprint.get(f"{BASE}/members")
@Page(guard=VIEW)
def members(*, scope: OrganizationScope) -> Response:
    """Show the members and the open invitations of an organization."""
    details, link = api.read(organizations.details, scope.path), current_settings().server.invitation_url
    return page("organization/members.html", details=details, invitation_url=link)


@blueprint.post(f"{BASE}/members/invite")
@Page(guard=endpoint_of(organizations.invite).guard, inputs=("email", "role"), shown_by="members")
def invite_member(*, scope: OrganizationScope, form: Form) -> Response:
    """Invite a person by e-mail, or send the invitation again."""
    return _change(scope, organizations.invite, form.texts("email", "role"), "/members?done=invited")


@blueprint.post(f"{BASE}/members/role")
@Page(guard=endpoint_of(organizations.update_role).guard, inputs=("member_id", "role"), shown_by="members")
def change_role(*, scope: OrganizationScope, form: Form) -> Response:
    """Change the role of a member."""
    return _change(scope, organizations.update_role, form.texts("member_id", "role"), "/members?done=saved")


@blueprint.post(f"{BASE}/members/remove")
@Page(guard=endpoint_of(organizations.remove_member).guard, inputs=("member_id", "email"), shown_by="members")
def remove_member(*, scope: OrganizationScope, form: Form) -> Response:
    """Remove a member, or revoke an invitation."""
    data = {name: value for name, value in form.texts("member_id", "email").items() if value}
    return _change(scope, organizations.remove_member, data, "/members?done=removed")


@blueprint.post(f"{BASE}/leave")
@Page(guard=endpoint_of(organizations.leave).guard, inputs=(), shown_by="members")
def leave_organization(*, scope: OrganizationScope, form: Form) -> Response:
    """Leave the organization."""
    api.write(organizations.leave, scope.path, method="PATCH")
    return see_other(f"{ROOT}?done=left")


@blueprint.get(f"{BASE}/settings")
@Page(guard=VIEW)
def organization_settings(*, scope: OrganizationScope) -> Response:
    """Show the settings of an organization."""
    return page("organization/settings.html", details=api.read(organizations.details, scope.path))


@blueprint.post(f"{BASE}/settings")
@Page(
    guard=endpoint_of(organizations.update).guard,
    inputs=("name",),
    shown_by="organization_settings",
    names={"org_name": "name"},
)
def change_organization(*, scope: OrganizationScope, form: Form) -> Response:
    """Rename the organization."""
    return _change(scope, organizations.update, {"org_name": form.text("name")}, SETTINGS_SAVED)


@blueprint.post(f"{BASE}/transfer")
@Page(guard=endpoint_of(organizations.transfer).guard, inputs=("member_id",), shown_by="organization_settings")
def transfer_organization(*, scope: OrganizationScope, form: Form) -> Response:
    """Transfer the organization to another member."""
    return _change(scope, organizations.transfer, form.texts("member_id"), SETTINGS_SAVED, method="POST")


@blueprint.post(f"{BASE}/status")
@Page(guard=endpoint_of(organizations.set_status).guard, inputs=("status",), shown_by="organization_settings")
def change_organization_status(*, scope: OrganizationScope, form: Form) -> Response:
    """Archive the organization or make it active."""
    return _change(scope, organizations.set_status, form.texts("status"), SETTINGS_SAVED)


@blueprint.post(f"{BASE}/delete")
@Page(guard=endpoint_of(organizations.delete).guard, inputs=(), shown_by="organization_settings")
def delete_organization(*, scope: OrganizationScope, form: Form) -> Response:
    """Delete the organization."""
    api.write(organizations.delete, scope.path, method="DELETE")
    return see_other(f"{ROOT}?done=deleted")
