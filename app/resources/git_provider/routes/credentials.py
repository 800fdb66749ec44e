"""Routes of credentials and repositories of Git providers (spec 4.8). Also mounted as `/provider`."""

from datetime import timedelta

from app.access.guards import own_user, verified
from app.access.scope import OrganizationScope, Scope, UserScope
from app.access.tokens import MANAGES, READS
from app.core.errors import PermissionDenied
from app.core.outbound import UnrecordedAct
from app.drivers.errors import ReconnectRequired
from app.drivers.git.account_ports import InstallationAccounts
from app.drivers.git.accounts import InstallationToken, TokenRejected, TokenSet
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import RepositoryFacts
from app.drivers.git.rest.responses import RequestRefused
from app.extensions import drivers, keyring
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import UPSTREAM, PageResult, ViewResult, endpoint
from app.http.results import page_of
from app.http.validation import ListQuery
from app.models.base import utcnow_ms
from app.models.git_credential import GitCredential
from app.models.project import Provider
from app.resources.git_provider import actions, credentials, repositories
from app.resources.git_provider import schemas as s
from app.resources.git_provider.credentials import RotatedTokens, VerifiedTokens
from app.resources.git_provider.guards import CREATE_REPOSITORY
from app.resources.git_provider.schemas import CreateCredentialBody, RotateCredentialBody

INSTALLATION_LIFE = timedelta(hours=1)  # GitHub: installation access tokens expire after one hour


def verify_token(body: CreateCredentialBody, *, hosts: GitHosts) -> VerifiedTokens:
    """Read the account of a token from the host and check the installation.

    Raises:
        TokenRejected: the host refuses the token.
        PermissionDenied: the installation is not visible to the account.
    """
    token, installation_id = body.access_token, body.installation_id
    account = hosts.accounts(body.provider).whoami(token)
    if not hosts.capabilities(body.provider).installations:
        installation_id = None
    if installation_id is not None:
        _check_sees(hosts.installations(body.provider)[1], token, installation_id)
    tokens = TokenSet(
        token,
        body.token_type.lower(),
        (),
        body.access_token_expires_at,
        body.refresh_token,
        body.refresh_token_expires_at,
    )
    brought = body.installation_access_token if installation_id else None
    return VerifiedTokens(
        tokens,
        account,
        installation_id,
        InstallationToken(brought, utcnow_ms() + INSTALLATION_LIFE) if brought else None,
    )


def rotated(body: RotateCredentialBody) -> tuple[Provider, str, RotatedTokens]:
    """Return the provider, the old refresh token and the new pair of a body."""
    pair = RotatedTokens(
        body.access_token, body.refresh_token, body.access_token_expires_at, body.refresh_token_expires_at
    )
    return body.provider, body.old_refresh_token, pair


def _check_sees(accounts: InstallationAccounts, token: str, installation_id: str) -> None:
    """Check that the account sees the installation, because other members will act through it."""
    try:
        is_visible = accounts.can_access_installation(token, installation_id)
    except (ReconnectRequired, RequestRefused) as fault:
        raise TokenRejected from fault
    if not is_visible:
        raise PermissionDenied("This installation is not visible to your account", code="INSTALLATION_NOT_VISIBLE")


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
    return verify_token(body, hosts=drivers.git)


@blueprint.post("/create")
@endpoint(
    operation_id="createGitCredential",
    guard=verified(token=MANAGES),
    body=s.CreateCredentialBody,
    result=s.CredentialSchema,
    status=201,
    other_status=200,
    message="Account connected",
    upstream=_try,
    errors=("TOKEN_REJECTED", "INSTALLATION_NOT_VISIBLE", "PROVIDER_NOT_CONFIGURED", *UPSTREAM),
)
def create(*, scope: Scope, body: s.CreateCredentialBody, prepared: VerifiedTokens) -> ViewResult:
    """Verify tokens of the caller at the provider and store them."""
    row, is_new = credentials.store(scope.user, body.provider, prepared, ring=keyring)
    return ViewResult(row, 201 if is_new else 200)


@blueprint.post("/rotate")
@endpoint(
    operation_id="rotateGitCredential",
    guard=verified("verifyAuth, own row", token=MANAGES, description="Needs a stored credential of the caller."),
    body=s.RotateCredentialBody,
    result=s.CredentialSchema,
    message="Tokens stored",
    errors=("ALREADY_ROTATED", "NOT_FOUND"),
)
def rotate(*, scope: Scope, body: s.RotateCredentialBody) -> GitCredential:
    """Store a token pair that the caller refreshed."""
    return credentials.rotate(scope.user, *rotated(body), ring=keyring)


@blueprint.get("/<userId>")
@endpoint(
    operation_id="listGitCredentials",
    guard=own_user("userId", token=READS),
    query=ListQuery,
    result=s.CredentialSchema,
    many=True,
)
def list_connected(*, scope: UserScope, query: ListQuery) -> PageResult:
    """List the providers the user has connected."""
    return page_of(credentials.credentials_of(scope.caller), query, kind="credentials", key=lambda row: row.id)


@blueprint.delete("/<id>")
@endpoint(
    operation_id="deleteGitCredential",
    guard=verified(token=MANAGES),
    result=s.RemovedCredentialSchema,
    message="Account disconnected",
)
def disconnect(*, scope: Scope) -> dict[str, object]:
    """Disconnect an account of the caller. Its tokens are revoked at the provider."""
    return {"id": credentials.disconnect_own(scope.caller, scope.path["id"], ring=keyring), "deleted": True}


@blueprint.get("/repositories")
@endpoint(
    guard=verified(token=READS),
    query=s.RepositoriesQuery,
    result=s.RepositoryItemSchema,
    many=True,
    errors=("NOT_FOUND", "REPO_UNAVAILABLE", "NEEDS_RECONNECT", "PROVIDER_NOT_CONFIGURED", *UPSTREAM),
)
def list_repositories(*, scope: Scope, query: s.RepositoriesQuery) -> PageResult:
    """List the repositories that the caller can reach at a provider."""
    page = repositories.reachable(
        scope.caller,
        provider=query.provider,
        search=query.search,
        cursor=query.cursor,
        limit=query.limit,
        hosts=drivers.git,
    )
    return PageResult(*page)


@blueprint.post("/repositories")
@endpoint(
    **vars(CREATE_REPOSITORY),
    body=s.CreateRepositoryBody,
    result=s.RepositoryItemSchema,
    status=201,
    message="Repository created",
    errors=("NAME_TAKEN", "INVALID_NAME", "PROVIDER_NOT_CONFIGURED"),
)
def create_repository(*, scope: OrganizationScope, body: s.CreateRepositoryBody) -> UnrecordedAct[RepositoryFacts]:
    """Create a local repository for an organization."""
    return actions.create_repository(scope.organization, body.name, hosts=drivers.git)
