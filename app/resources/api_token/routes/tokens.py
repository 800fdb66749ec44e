"""Routes of the personal API tokens of a user."""

from app.access.guards import verified
from app.access.scope import Scope
from app.extensions import current_settings
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import PageResult, endpoint
from app.http.results import page_of
from app.http.validation import ListQuery
from app.models.login import ApiToken
from app.resources.api_token import guards, service
from app.resources.api_token import schemas as s
from app.resources.api_token.guards import ApiTokenScope, own_token

blueprint = ApiBlueprint(
    "api_token",
    __name__,
    title="API tokens",
    noun="API token",
    description="Personal tokens for programs. Only the response of a creation or rotation has the secret.",
)


@blueprint.get("")
@endpoint(guard=verified(), query=ListQuery, result=s.ApiTokenSchema, many=True, message="API tokens")
def list_own(*, scope: Scope, query: ListQuery) -> PageResult:
    """List your personal API tokens."""
    return page_of(service.of_user(scope.caller.id), query, kind="tokens", key=lambda token: token.id)


@blueprint.post("")
@endpoint(
    **vars(guards.CREATE),
    body=s.CreateTokenBody,
    result=s.IssuedTokenSchema,
    status=201,
    message="API token created",
    secret_fields=("token",),
    errors=("LIMIT_REACHED", "NOT_FOUND", "NOT_ALLOWED"),
)
def create(*, scope: Scope, body: service.TokenValues) -> service.IssuedToken:
    """Create a personal API token. Only this response contains the secret."""
    return service.create(body, by=scope.user, limits=current_settings().limits.tokens)


@blueprint.get("/<id>")
@endpoint(guard=own_token(), result=s.ApiTokenSchema, message="API token")
def details(*, scope: ApiTokenScope) -> ApiToken:
    """Read a personal API token."""
    token: ApiToken = scope.token
    return token


@blueprint.patch("/<id>")
@endpoint(**vars(guards.UPDATE), body=s.UpdateTokenBody, result=s.ApiTokenSchema, message="API token updated")
def update(*, scope: ApiTokenScope, body: service.TokenChanges) -> ApiToken:
    """Change the name, scopes, projects or expiry of a personal API token."""
    return service.update(scope.token, body, by=scope.user, limits=current_settings().limits.tokens)


@blueprint.delete("/<id>")
@endpoint(**vars(guards.DELETE), result=s.DeletedTokenSchema, message="API token deleted")
def delete(*, scope: ApiTokenScope) -> dict[str, object]:
    """Delete a personal API token. It is invalid from now on."""
    return {"id": service.delete(scope.token), "deleted": True}


@blueprint.post("/<id>/rotate")
@endpoint(
    **vars(guards.ROTATE),
    body=s.RotateTokenBody,
    result=s.IssuedTokenSchema,
    message="API token rotated",
    secret_fields=("token",),
)
def rotate(*, scope: ApiTokenScope, body: s.RotateTokenBody) -> service.IssuedToken:
    """Replace the secret of a personal API token. Only this response contains the new secret."""
    return service.rotate(
        scope.token, by=scope.user, expires_at=body.expires_at, limits=current_settings().limits.tokens
    )
