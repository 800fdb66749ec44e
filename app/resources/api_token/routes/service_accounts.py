"""Routes of the service accounts of an organization."""

from app.access.scope import OrganizationScope
from app.extensions import current_settings
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import PageResult, endpoint
from app.http.results import page_of
from app.http.validation import ListQuery
from app.models.login import ApiToken
from app.resources.api_token import guards, service
from app.resources.api_token import schemas as s
from app.resources.api_token.guards import ServiceAccountScope, manage_service_accounts, service_account

blueprint = ApiBlueprint(
    "service_account",
    __name__,
    title="Service accounts",
    noun="service account",
    description="API tokens of an organization that its owners and admins manage.",
)
ALL = "/<org_id>/service-accounts"
SERVICE_ACCOUNT = f"{ALL}/<id>"


@blueprint.get(ALL)
@endpoint(
    guard=manage_service_accounts(), query=ListQuery, result=s.ApiTokenSchema, many=True, message="Service accounts"
)
def list_all(*, scope: OrganizationScope, query: ListQuery) -> PageResult:
    """List the service accounts of an organization."""
    accounts = service.of_organization(scope.organization.id)
    return page_of(accounts, query, kind="accounts", key=lambda account: account.id)


@blueprint.post(ALL)
@endpoint(
    **vars(guards.CREATE_ACCOUNT),
    body=s.CreateTokenBody,
    result=s.IssuedTokenSchema,
    status=201,
    message="Service account created",
    secret_fields=("token",),
    errors=("LIMIT_REACHED", "MEMBERSHIP_ENDED"),
)
def create(*, scope: OrganizationScope, body: service.TokenValues) -> service.IssuedToken:
    """Create a service account. Only this response contains the secret."""
    limits = current_settings().limits.tokens
    return service.create(body, by=scope.user, organization=scope.organization, limits=limits)


@blueprint.get(SERVICE_ACCOUNT)
@endpoint(guard=service_account(), result=s.ApiTokenSchema, message="Service account")
def details(*, scope: ServiceAccountScope) -> ApiToken:
    """Read a service account."""
    token: ApiToken = scope.token
    return token


@blueprint.patch(SERVICE_ACCOUNT)
@endpoint(
    **vars(guards.UPDATE_ACCOUNT),
    body=s.UpdateTokenBody,
    result=s.ApiTokenSchema,
    message="Service account updated",
    errors=("MEMBERSHIP_ENDED",),
)
def update(*, scope: ServiceAccountScope, body: service.TokenChanges) -> ApiToken:
    """Change the name, scopes, projects or expiry of a service account. You become its owner."""
    limits = current_settings().limits.tokens
    return service.update(scope.token, body, by=scope.user, organization=scope.organization, limits=limits)


@blueprint.delete(SERVICE_ACCOUNT)
@endpoint(
    **vars(guards.DELETE_ACCOUNT),
    result=s.DeletedTokenSchema,
    message="Service account deleted",
)
def delete(*, scope: ServiceAccountScope) -> dict[str, object]:
    """Delete a service account. Its secret is invalid from now on."""
    return {"id": service.delete(scope.token), "deleted": True}


@blueprint.post(f"{SERVICE_ACCOUNT}/rotate")
@endpoint(
    **vars(guards.ROTATE_ACCOUNT),
    body=s.RotateTokenBody,
    result=s.IssuedTokenSchema,
    message="Service account rotated",
    secret_fields=("token",),
    errors=("MEMBERSHIP_ENDED",),
)
def rotate(*, scope: ServiceAccountScope, body: s.RotateTokenBody) -> service.IssuedToken:
    """Replace the secret of a service account. You become its owner. Only this response contains the new secret."""
    limits = current_settings().limits.tokens
    return service.rotate(
        scope.token,
        by=scope.user,
        organization=scope.organization,
        expires_at=body.expires_at,
        limits=limits,
    )
