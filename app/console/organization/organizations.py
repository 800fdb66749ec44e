"""Pages of an organization: projects, members with invitations, settings."""

from collections.abc import Callable

from flask import Response

from app.access.guards import permission
from app.access.scope import OrganizationScope, Scope
from app.console.blueprint import ROOT, blueprint
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.core.permissions import Access, Permission, Role, grants
from app.extensions import current_settings
from app.http.actions import DeclaredAction, run
from app.resources.auth.two_factor.actions import request_reset
from app.resources.auth.two_factor.guards import REQUEST_RESET as RESET
from app.resources.organization import guards, queries, service
from app.resources.organization import members as memberships
from app.resources.organization import schemas as s
from app.resources.project import imports
from app.resources.project import queries as projects

BASE = "/organizations/<org_id>"
VIEW = permission(Permission.VIEW_PROJECTS)
SETTINGS_SAVED = "/settings?done=saved"
SITE = "site."
"""The beginning of the name of an input with the role in a project."""

ACCESS = ("access", f"{SITE}*")


def _change(
    scope: Scope, declared: DeclaredAction, act: Callable[..., object], values: dict[str, object], done: str
) -> Response:
    """Run a change of the organization by the user and lead to a page of it."""
    run(lambda scope: act(scope.organization, **values, by=scope.user), scope.path, declared)
    return see_other(f"{ROOT}/organizations/{scope.path['org_id']}{done}")


@blueprint.get(BASE)
@Page(guard=VIEW)
def organization(*, scope: OrganizationScope) -> Response:
    """Show the projects of an organization."""
    clones = imports.latest(scope.organization) if grants(scope.role, Permission.MANAGE_PROJECTS) else ()
    listed = projects.of_organization(scope.organization.id, user=scope.caller, status=None)
    return page("organization/projects.html", projects=listed, imports=clones)


@blueprint.get(f"{BASE}/members")
@Page(guard=VIEW)
def members(*, scope: OrganizationScope) -> Response:
    """Show the members and the open invitations of an organization."""
    details, link = queries.details(scope.organization, viewer=scope.caller), current_settings().server.invitation_url
    sites = projects.of_organization(scope.organization.id, user=scope.caller, status=None)
    return page("organization/members.html", details=details, invitation_url=link, sites=sites)


def _access(form: Form) -> dict[str, object]:
    """Return the fields of a body for the sites that the form chooses. An administrator sees all."""
    if form.text("role") != Role.EDITOR or not form.text("access"):
        return {}
    if form.text("access") == Access.ALL:
        return {"access": Access.ALL}
    roles = {name.removeprefix(SITE): value for name, value in form.values.items() if name.startswith(SITE) and value}
    chosen = [{"project_id": project_id, "role": role} for project_id, role in roles.items()]
    return {"access": form.text("access"), "projects": chosen}


@blueprint.post(f"{BASE}/members/invite")
@Page(guard=guards.INVITE.guard, inputs=("email", "role", *ACCESS), shown_by="members")
def invite_member(*, scope: OrganizationScope, form: Form) -> Response:
    """Invite a person by e-mail, or send the invitation again."""
    values = s.InviteMemberBody.loaded(form.texts("email", "role") | _access(form), is_change=True).sent()
    values["server"] = current_settings().server
    return _change(scope, guards.INVITE, memberships.invite, values, "/members?done=invited")


@blueprint.post(f"{BASE}/members/role")
@Page(guard=guards.CHANGE_ROLE.guard, inputs=("member_id", "role", *ACCESS), shown_by="members")
def change_role(*, scope: OrganizationScope, form: Form) -> Response:
    """Change the role of a member, and the sites that an editor sees."""
    values = s.ChangeRoleBody.loaded(form.texts("member_id", "role") | _access(form), is_change=True).sent()
    return _change(scope, guards.CHANGE_ROLE, memberships.change_role, values, "/members?done=saved")


@blueprint.post(f"{BASE}/members/remove")
@Page(guard=guards.REMOVE_MEMBER.guard, inputs=("member_id", "email"), shown_by="members")
def remove_member(*, scope: OrganizationScope, form: Form) -> Response:
    """Remove a member, or revoke an invitation."""
    data = {name: value for name, value in form.texts("member_id", "email").items() if value}
    values = s.MemberBody.loaded(data).sent()
    return _change(scope, guards.REMOVE_MEMBER, memberships.remove, values, "/members?done=removed")


@blueprint.post(f"{BASE}/leave")
@Page(guard=guards.LEAVE.guard, inputs=(), shown_by="members")
def leave_organization(*, scope: OrganizationScope, form: Form) -> Response:
    """Leave the organization."""
    run(lambda scope: memberships.leave(scope.organization, by=scope.user), scope.path, guards.LEAVE)
    return see_other(f"{ROOT}?done=left")


@blueprint.get(f"{BASE}/settings")
@Page(guard=VIEW)
def organization_settings(*, scope: OrganizationScope) -> Response:
    """Show the settings of an organization."""
    return page("organization/settings.html", details=queries.details(scope.organization, viewer=scope.caller))


@blueprint.post(f"{BASE}/settings")
@Page(guard=guards.UPDATE.guard, inputs=("name",), shown_by="organization_settings", names={"org_name": "name"})
def change_organization(*, scope: OrganizationScope, form: Form) -> Response:
    """Rename the organization."""
    changes = s.UpdateOrganizationBody.loaded({"org_name": form.text("name")}, is_change=True).sent()
    return _change(scope, guards.UPDATE, service.update, {"changes": changes}, SETTINGS_SAVED)


@blueprint.post(f"{BASE}/second-factor")
@Page(
    guard=guards.UPDATE.guard, inputs=("require_second_factor", "second_factor_from"), shown_by="organization_settings"
)
def change_requirement(*, scope: OrganizationScope, form: Form) -> Response:
    """Require a second factor of the members, or end the requirement."""
    data: dict[str, object] = {"require_second_factor": form.is_checked("require_second_factor")}
    if data["require_second_factor"]:
        data["second_factor_from"] = form.text("second_factor_from") or None
    changes = s.UpdateOrganizationBody.loaded(data, is_change=True).sent()
    return _change(scope, guards.UPDATE, service.update, {"changes": changes}, SETTINGS_SAVED)


@blueprint.post(f"{BASE}/members/reset-second-factor")
@Page(guard=RESET.guard, inputs=("member_id",), shown_by="members")
def reset_member_factor(*, scope: OrganizationScope, form: Form) -> Response:
    """Mail a link to a member who has lost the second factor."""
    member_id = s.TransferOwnershipBody.loaded(form.texts("member_id")).member_id
    run(lambda scope: request_reset(scope.organization, member_id, by=scope.user), scope.path, RESET)
    return see_other(f"{ROOT}/organizations/{scope.path['org_id']}/members?done=mailed")


@blueprint.post(f"{BASE}/transfer")
@Page(guard=guards.TRANSFER.guard, inputs=("member_id",), shown_by="organization_settings")
def transfer_organization(*, scope: OrganizationScope, form: Form) -> Response:
    """Transfer the organization to another member."""
    values = s.TransferOwnershipBody.loaded(form.texts("member_id")).sent()
    return _change(scope, guards.TRANSFER, service.transfer, values, SETTINGS_SAVED)


@blueprint.post(f"{BASE}/status")
@Page(guard=guards.SET_STATUS.guard, inputs=("status",), shown_by="organization_settings")
def change_organization_status(*, scope: OrganizationScope, form: Form) -> Response:
    """Archive the organization or make it active."""
    status = s.ChangeStatusBody.loaded(form.texts("status"), is_change=True).status
    run(lambda scope: service.set_status(scope.organization, status), scope.path, guards.SET_STATUS)
    return see_other(f"{ROOT}/organizations/{scope.path['org_id']}{SETTINGS_SAVED}")


@blueprint.post(f"{BASE}/delete")
@Page(guard=guards.DELETE.guard, inputs=(), shown_by="organization_settings")
def delete_organization(*, scope: OrganizationScope, form: Form) -> Response:
    """Delete the organization."""
    run(lambda scope: service.delete(scope.organization), scope.path, guards.DELETE)
    return see_other(f"{ROOT}?done=deleted")
