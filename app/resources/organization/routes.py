"""Organizations and their members (spec 4.4).

A view receives the scope its guard resolved and the body its schema cleaned, and calls one service function.
"""

from typing import Any

from flask import Blueprint

from app.core.permissions import Permission, Role
from app.http.configuration import settings
from app.http.endpoint import endpoint
from app.http.guards import permission, roles, verified
from app.http.scope import Scope
from app.resources.organization import members, reading, service
from app.resources.organization import schemas as s
from app.resources.user.allowances import limits_of

blueprint = Blueprint("organization", __name__)
DETAILS = "organization.details"


@blueprint.get("/user")
@endpoint(guard=verified(), query=s.WhichOrganizations, result=s.OwnOrganizationObject, many=True)
def list_own(scope: Scope, query: s.WhichOrganizationsQuery) -> list[reading.Shown]:
    """List the organizations the caller belongs to."""
    return reading.of_user(scope.actor, status=query["status"])


@blueprint.get("/<org_id>")
@endpoint(guard=permission(Permission.VIEW_PROJECTS), result=s.OrganizationObject)
def details(scope: Scope) -> reading.Shown:
    """Tell an organization's details and members."""
    return reading.details(scope.organization)


@blueprint.post("")
@endpoint(
    guard=verified(),
    body=s.NewOrganization,
    result=s.OrganizationObject,
    status=201,
    message="Organization created",
    rate="organization_create",
)
def create(scope: Scope, body: s.NewOrganizationBody) -> reading.Shown:
    """Create an organization."""
    return reading.details(service.create(**body, by=scope.actor, limit=limits_of(scope.actor.id).organizations))


@blueprint.post("/ensure-default")
@endpoint(guard=verified(), result=s.OrganizationObject, message="This is the default organization")
def ensure_default(scope: Scope) -> reading.Shown:
    """Return the caller's fallback organization, creating it where there is none."""
    return reading.details(service.ensure_default(scope.actor))


@blueprint.patch("/member/<org_id>")
@endpoint(
    guard=permission(Permission.MANAGE_MEMBERS),
    body=s.InviteMember,
    result=s.InvitedMember,
    current=DETAILS,
    message="Member invited",
    rate="invite",
)
def invite(scope: Scope, body: s.InviteMemberBody) -> members.Outcome:
    """Invite a person by e-mail; the mail leaves after commit."""
    limit, web_url = limits_of(scope.organization.owner_id).members, settings().server.web_url
    return members.invite(scope.organization, **body, by=scope.actor, limit=limit, web_url=web_url)


@blueprint.patch("/update-role/<org_id>")
@endpoint(
    guard=permission(Permission.MANAGE_MEMBERS),
    body=s.ChangeRole,
    result=s.MemberRole,
    current=DETAILS,
    message="Member role updated",
)
def update_role(scope: Scope, body: s.ChangeRoleBody) -> members.Outcome:
    """Give a member the role admin or editor."""
    return members.change_role(scope.organization, **body, by=scope.actor)


@blueprint.patch("/remove-member/<org_id>")
@endpoint(
    guard=permission(Permission.MANAGE_MEMBERS),
    body=s.Member,
    result=s.RemovedMember,
    archived_too=True,
    current=DETAILS,
    message="Member removed",
)
def remove_member(scope: Scope, body: s.MemberBody) -> members.Outcome:
    """Remove a member, or take an invitation back."""
    return members.remove(scope.organization, **body, by=scope.actor)


@blueprint.patch("/leave/<org_id>")
@endpoint(
    guard=permission(Permission.VIEW_MEMBERS),
    result=s.LeftOrganization,
    archived_too=True,
    current=DETAILS,
    message="You have left the organization",
)
def leave(scope: Scope) -> members.Outcome:
    """Leave; an owner cannot (spec 3)."""
    return members.leave(scope.organization, by=scope.actor)


@blueprint.post("/transfer/<org_id>")
@endpoint(
    guard=roles(Role.OWNER, organization="org_id"),
    body=s.NewOwner,
    result=s.OrganizationObject,
    message="Organization handed over",
)
def transfer(scope: Scope, body: s.NewOwnerBody) -> reading.Shown:
    """Hand the organization over to another member."""
    limits = limits_of(body["member_id"])
    return reading.details(service.transfer(scope.organization, **body, by=scope.actor, limits=limits))


@blueprint.patch("/status/<org_id>")
@endpoint(
    guard=permission(Permission.MANAGE_ORG),
    body=s.ChangeStatus,
    result=s.OrganizationObject,
    archived_too=True,
    current=DETAILS,
    message="Status updated",
)
def set_status(scope: Scope, body: s.ChangeStatusBody) -> reading.Shown:
    """Archive the organization or make it active."""
    return reading.details(service.set_status(scope.organization, **body))


@blueprint.patch("/<org_id>")
@endpoint(
    guard=permission(Permission.MANAGE_ORG),
    body=s.ChangeOrganization,
    result=s.OrganizationObject,
    current=DETAILS,
    message="Organization updated",
)
def update(scope: Scope, body: dict[str, Any]) -> reading.Shown:
    """Change name, thumbnail or settings."""
    return reading.details(service.update(scope.organization, body, by=scope.actor))


@blueprint.delete("/<org_id>")
@endpoint(
    guard=permission(Permission.DELETE_ORG),
    result=s.DeletedOrganization,
    archived_too=True,
    current=DETAILS,
    message="Organization deleted",
)
def delete(scope: Scope) -> dict[str, object]:
    """Delete the organization and its projects."""
    return {"org_id": service.delete(scope.organization), "deleted": True}
