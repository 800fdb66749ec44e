"""Routes of organizations and their members (spec 4.4)."""

from app.access.guards import permission, verified
from app.access.scope import OrganizationScope, Scope
from app.access.tokens import MANAGES, READS
from app.core.permissions import Permission
from app.extensions import current_settings
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import PageResult, ViewResult, endpoint
from app.http.results import page_of
from app.resources.organization import guards, members, queries, service
from app.resources.organization import schemas as s
from app.resources.user.creation_limits import limits_of

blueprint = ApiBlueprint(
    "organization",
    __name__,
    title="Organizations",
    noun="organization",
    description="Groups of users that own projects. Members are owner, admin or editor.",
    parameters={
        "status": "Only objects with this status.",
    },
)


@blueprint.get("/user")
@endpoint(guard=verified(token=READS), query=s.StatusQuery, result=s.OwnOrganizationSchema, many=True)
def list_own(*, scope: Scope, query: s.StatusQuery) -> PageResult:
    """List the organizations the caller belongs to."""
    own = queries.of_user(scope.caller, status=query.status)
    return page_of(own, query, kind="organizations", key=lambda membership: str(membership["org_id"]))


@blueprint.get("/<org_id>")
@endpoint(guard=permission(Permission.VIEW_PROJECTS), result=s.OrganizationSchema)
def details(*, scope: OrganizationScope) -> queries.OrganizationDict:
    """Return an organization with its members, for a limited member with those of the same projects."""
    return queries.details(scope.organization, viewer=scope.caller)


@blueprint.post("")
@endpoint(
    guard=verified(token=MANAGES),
    body=s.CreateOrganizationBody,
    result=s.OrganizationSchema,
    status=201,
    message="Organization created",
    rate="organization_create",
    errors=("NAME_TAKEN", "LIMIT_REACHED", "NOT_FOUND", "NOT_ALLOWED"),
)
def create(*, scope: Scope, body: s.CreateOrganizationBody) -> queries.OrganizationDict:
    """Create an organization."""
    created = service.create(**body.sent(), by=scope.user, limit=limits_of(scope.caller.id).organizations)
    return queries.details(created, viewer=scope.caller)


@blueprint.post("/ensure-default")
@endpoint(
    operation_id="ensureDefaultOrganization",
    guard=verified(token=MANAGES),
    result=s.OrganizationSchema,
    message="Default organization",
    errors=("LIMIT_REACHED",),
)
def ensure_default(*, scope: Scope) -> queries.OrganizationDict:
    """Return the default organization of the caller. Create it if it does not exist."""
    return queries.details(service.ensure_default(scope.user), viewer=scope.caller)


@blueprint.patch("/member/<org_id>")
@endpoint(
    **vars(guards.INVITE),
    operation_id="inviteOrganizationMember",
    body=s.InviteMemberBody,
    result=s.InvitedMemberSchema,
    message="Member invited",
    errors=("ALREADY_MEMBER", "LIMIT_REACHED"),
)
def invite(*, scope: OrganizationScope, body: s.InviteMemberBody) -> ViewResult:
    """Add a user with this e-mail address, or invite the person. The mail is sent after the commit."""
    result = members.invite(scope.organization, **body.sent(), by=scope.user, server=current_settings().server)
    return ViewResult(result, message="Member added" if result["status"] == "active" else "Member invited")


@blueprint.patch("/update-role/<org_id>")
@endpoint(
    **vars(guards.CHANGE_ROLE),
    operation_id="updateOrganizationMemberRole",
    body=s.ChangeRoleBody,
    result=s.ChangedRoleSchema,
    message="Member role updated",
)
def update_role(*, scope: OrganizationScope, body: s.ChangeRoleBody) -> members.MemberResult:
    """Change the role of a member to admin or editor, and the projects that an editor sees."""
    return members.change_role(scope.organization, **body.sent(), by=scope.user)


@blueprint.patch("/remove-member/<org_id>")
@endpoint(
    **vars(guards.REMOVE_MEMBER),
    body=s.MemberBody,
    result=s.RemovedMemberSchema,
    message="Member removed",
)
def remove_member(*, scope: OrganizationScope, body: s.MemberBody) -> members.MemberResult:
    """Remove a member or an invitation."""
    return members.remove(scope.organization, **body.sent(), by=scope.user)


@blueprint.patch("/leave/<org_id>")
@endpoint(
    **vars(guards.LEAVE),
    result=s.OrganizationDepartureSchema,
    message="You have left the organization",
    errors=("OWNER_CANNOT_LEAVE",),
)
def leave(*, scope: OrganizationScope) -> members.MemberResult:
    """Leave the organization. An owner cannot leave (spec 3)."""
    return members.leave(scope.organization, by=scope.user)


@blueprint.post("/transfer/<org_id>")
@endpoint(
    **vars(guards.TRANSFER),
    body=s.TransferOwnershipBody,
    result=s.OrganizationSchema,
    message="Organization transferred",
    errors=("OWNER_CHANGED", "DEFAULT_ORGANIZATION", "LIMIT_REACHED", "NAME_TAKEN", "CONFLICT"),
)
def transfer(*, scope: OrganizationScope, body: s.TransferOwnershipBody) -> queries.OrganizationDict:
    """Transfer the organization to another member."""
    return queries.details(service.transfer(scope.organization, body.member_id, by=scope.user), viewer=scope.caller)


@blueprint.patch("/status/<org_id>")
@endpoint(
    **vars(guards.SET_STATUS),
    body=s.ChangeStatusBody,
    result=s.OrganizationSchema,
    message="Status updated",
    errors=("DEFAULT_ORGANIZATION", "LIMIT_REACHED"),
)
def set_status(*, scope: OrganizationScope, body: s.ChangeStatusBody) -> queries.OrganizationDict:
    """Archive or reactivate the organization."""
    return queries.details(service.set_status(scope.organization, body.status), viewer=scope.caller)


@blueprint.patch("/<org_id>")
@endpoint(
    **vars(guards.UPDATE),
    body=s.UpdateOrganizationBody,
    result=s.OrganizationSchema,
    message="Organization updated",
    errors=("NAME_TAKEN",),
)
def update(*, scope: OrganizationScope, body: s.UpdateOrganizationBody) -> queries.OrganizationDict:
    """Change the name, the image or the settings."""
    return queries.details(service.update(scope.organization, body.sent(), by=scope.user), viewer=scope.caller)


@blueprint.delete("/<org_id>")
@endpoint(
    **vars(guards.DELETE),
    result=s.DeletedOrganizationSchema,
    message="Organization deleted",
    errors=("DEFAULT_ORGANIZATION",),
)
def delete(*, scope: OrganizationScope) -> dict[str, object]:
    """Delete the organization and its projects."""
    return {"org_id": service.delete(scope.organization), "deleted": True}
