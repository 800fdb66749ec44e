"""Routes of credentials and repositories of Git providers (spec 4.8). Also mounted as `/provider`."""

from collections.abc import Sequence

from app.access.guards import own_user, permission, verified
from app.access.scope import OrganizationScope, Scope, UserScope
from app.access.tokens import MANAGES, READS
from app.core.permissions import Permission
from app.drivers.git.port import Repository
from app.extensions import drivers, keyring
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import PageResult, ViewResult, endpoint
from app.http.upstream_errors import UPSTREAM
from app.models.git_credential import GitCredential
from app.resources.git_provider import credentials, removal, repositories
from app.resources.git_provider.credentials import VerifiedTokens
from app.resources.git_provider.prepare import credentials as connecting
from app.resources.git_provider.schemas import credentials as s

blueprint = ApiBlueprint(
    "git_provider",
    __name__,
    title="Git accounts",
    description="Accounts at Git hosts and their repositories. No response contains a token.",
    parameters={
        "search": "A part of the name.",
    },
)


def _try(scope: Scope, body: s.CreateCredentialBody) -> VerifiedTokens:
    return connecting.verify_token(body, hosts=drivers.git)


@blueprint.post("/create")
@endpoint(
    guard=verified(token=MANAGES),
    body=s.CreateCredentialBody,
    result=s.CredentialSchema,
    status=201,
    other_status=200,
    message="Account connected",
    upstream=_try,
    errors=(
        "TOKEN_REJECTED",
        "INSTALLATION_NOT_VISIBLE",
        "PROVIDER_NOT_CONFIGURED",
        *UPSTREAM,
    ),
)
def create(*, scope: Scope, body: s.CreateCredentialBody, prepared: VerifiedTokens) -> ViewResult:
    """Verify tokens of the caller at the provider and store them."""
    row, is_new = credentials.store(scope.user, body.provider, prepared, ring=keyring)
    return ViewResult(row, 201 if is_new else 200)


@blueprint.post("/rotate")
@endpoint(
    guard=verified("verifyAuth, own row", token=MANAGES, description="Needs a stored credential of the caller."),
    body=s.RotateCredentialBody,
    result=s.CredentialSchema,
    message="Tokens stored",
    errors=("ALREADY_ROTATED", "NOT_FOUND"),
)
def rotate(*, scope: Scope, body: s.RotateCredentialBody) -> GitCredential:
    """Store a token pair that the caller refreshed."""
    return credentials.rotate(scope.user, *connecting.rotated(body), ring=keyring)


@blueprint.get("/<userId>")
@endpoint(guard=own_user("userId", token=READS), result=s.CredentialSchema, many=True)
def list_connected(*, scope: UserScope) -> Sequence[GitCredential]:
    """List the providers the user has connected."""
    return credentials.credentials_of(scope.target)


@blueprint.delete("/<id>")
@endpoint(guard=verified(token=MANAGES), result=s.RemovedCredentialSchema, message="Account disconnected")
def disconnect(*, scope: Scope) -> dict[str, object]:
    """Disconnect an account of the caller. Its tokens are revoked at the provider."""
    return {"id": removal.disconnect_own(scope.user, scope.path["id"], ring=keyring), "deleted": True}


@blueprint.get("/repositories")
@endpoint(
    guard=verified(token=READS),
    query=s.RepositoriesQuery,
    result=s.RepositoryItemSchema,
    many=True,
    errors=(
        "NOT_FOUND",
        "REPO_UNAVAILABLE",
        "NEEDS_RECONNECT",
        "PROVIDER_NOT_CONFIGURED",
        *UPSTREAM,
    ),
)
def list_repositories(*, scope: Scope, query: s.RepositoriesQuery) -> PageResult:
    """List the repositories that the caller can reach at a provider."""
    page = repositories.reachable(
        scope.user,
        provider=query.provider,
        search=query.search,
        cursor=query.cursor,
        limit=query.limit,
        hosts=drivers.git,
    )
    return PageResult(*page)


def _make(scope: OrganizationScope, body: s.CreateRepositoryBody) -> Repository:
    return repositories.make(scope.organization, body.name, hosts=drivers.git)


@blueprint.post("/repositories")
@endpoint(
    guard=permission(Permission.MANAGE_PROJECTS, in_body=True),
    body=s.CreateRepositoryBody,
    result=s.RepositoryItemSchema,
    status=201,
    message="Repository created",
    upstream=_make,
    errors=("NAME_TAKEN", "INVALID_NAME", "PROVIDER_NOT_CONFIGURED"),
)
def create_repository(*, scope: OrganizationScope, body: s.CreateRepositoryBody, prepared: Repository) -> Repository:
    """Create a local repository for an organization."""
    return repositories.record_owner(scope.organization, prepared)
