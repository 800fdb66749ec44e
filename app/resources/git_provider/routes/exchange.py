"""Routes that connect an account of a Git host (spec 4.12): start, exchange of the code, refresh of the tokens."""

from app.access.guards import verified
from app.access.scope import Scope
from app.access.tokens import MANAGES
from app.core.limits import InputLimits
from app.extensions import keyring
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import endpoint
from app.http.upstream_errors import UPSTREAM
from app.models.git_credential import GitCredential
from app.models.project import Provider
from app.resources.git_provider import credentials
from app.resources.git_provider.credentials import VerifiedTokens
from app.resources.git_provider.oauth_state import OAuthState
from app.resources.git_provider.prepare import exchange as flow
from app.resources.git_provider.schemas.credentials import CredentialSchema
from app.resources.git_provider.schemas.exchange import (
    ExchangeCodeBody,
    ExchangeInstallationBody,
    ExchangeInstallationQuery,
    StartConnectionBody,
    StartedConnectionSchema,
)

blueprint = ApiBlueprint(
    "git_exchange",
    __name__,
    title="Connection of Git accounts",
    description="The OAuth exchange with a Git host.",
    parameters={
        "code": "The authorization code of the provider.",
        "installation_id": "The id of the app installation at the Git host.",
        "state": "The one-time value of the start.",
    },
)

MAX_BYTES = InputLimits.auth_bytes
WITH_STATE = verified(
    "verifyAuth + state",
    description="Needs a user with a verified e-mail address. The state of the start is checked.",
)


@blueprint.post("/provider_a/start")
@endpoint(
    guard=verified(),
    result=StartedConnectionSchema,
    message="Continue at the provider",
    upstream=flow.start_a,
    max_bytes=MAX_BYTES,
    rate="provider_exchange",
    errors=(
        "INVALID_REDIRECT",
        "PROVIDER_NOT_CONFIGURED",
    ),
)
def start_a(*, scope: Scope, prepared: tuple[OAuthState, str]) -> dict[str, str]:
    """Start to connect an installation and return the URL of the provider."""
    return flow.store_state(scope, flow.A, *prepared)


@blueprint.post("/provider_b/start")
@endpoint(
    guard=verified(),
    body=StartConnectionBody,
    result=StartedConnectionSchema,
    message="Continue at the provider",
    upstream=flow.start_b,
    max_bytes=MAX_BYTES,
    rate="provider_exchange",
    errors=(
        "INVALID_REDIRECT",
        "PROVIDER_NOT_CONFIGURED",
    ),
)
def start_b(*, scope: Scope, body: StartConnectionBody, prepared: tuple[OAuthState, str]) -> dict[str, str]:
    """Start to connect an account and return the URL of the provider."""
    return flow.store_state(scope, flow.B, *prepared)


@blueprint.post("/provider_a")
@endpoint(
    guard=WITH_STATE,
    body=ExchangeInstallationBody,
    query=ExchangeInstallationQuery,
    result=CredentialSchema,
    message="Account connected",
    upstream=flow.exchange_a,
    max_bytes=MAX_BYTES,
    rate="provider_exchange",
    errors=(
        "CODE_REJECTED",
        "INVALID_STATE",
        "INVALID_REDIRECT",
        "INSTALLATION_NOT_VISIBLE",
        "PROVIDER_NOT_CONFIGURED",
        *UPSTREAM,
    ),
)
def exchange_a(
    *, scope: Scope, body: ExchangeInstallationBody, query: ExchangeInstallationQuery, prepared: VerifiedTokens
) -> GitCredential:
    """Exchange the code of an installation and store the tokens."""
    return credentials.store(scope.user, Provider.GITHUB, prepared, ring=keyring)[0]


@blueprint.post("/provider_b")
@endpoint(
    guard=WITH_STATE,
    body=ExchangeCodeBody,
    result=CredentialSchema,
    message="Account connected",
    upstream=flow.exchange_b,
    max_bytes=MAX_BYTES,
    rate="provider_exchange",
    errors=(
        "CODE_REJECTED",
        "INVALID_STATE",
        "INVALID_REDIRECT",
        "INSTALLATION_NOT_VISIBLE",
        "PROVIDER_NOT_CONFIGURED",
        *UPSTREAM,
    ),
)
def exchange_b(*, scope: Scope, body: ExchangeCodeBody, prepared: VerifiedTokens) -> GitCredential:
    """Exchange an authorization code and store the tokens."""
    return credentials.store(scope.user, Provider.GITLAB, prepared, ring=keyring)[0]


def _refresh_a(scope: Scope) -> str:
    return flow.refresh(scope, Provider.GITHUB)


def _refresh_b(scope: Scope) -> str:
    return flow.refresh(scope, Provider.GITLAB)


@blueprint.post("/provider_a/refresh")
@endpoint(
    guard=verified(token=MANAGES),
    result=CredentialSchema,
    message="Tokens refreshed",
    upstream=_refresh_a,
    max_bytes=MAX_BYTES,
    rate="provider_refresh",
    errors=(
        "NOT_FOUND",
        "NEEDS_RECONNECT",
        "PROVIDER_NOT_CONFIGURED",
        *UPSTREAM,
    ),
)
def refresh_a(*, scope: Scope, prepared: str) -> GitCredential:
    """Refresh the tokens of the caller and of the installation."""
    return credentials.own(scope.user, Provider.GITHUB)


@blueprint.post("/provider_b/refresh")
@endpoint(
    guard=verified(token=MANAGES),
    result=CredentialSchema,
    message="Tokens refreshed",
    upstream=_refresh_b,
    max_bytes=MAX_BYTES,
    rate="provider_refresh",
    errors=(
        "NOT_FOUND",
        "NEEDS_RECONNECT",
        "PROVIDER_NOT_CONFIGURED",
        *UPSTREAM,
    ),
)
def refresh_b(*, scope: Scope, prepared: str) -> GitCredential:
    """Refresh the tokens of the caller."""
    return credentials.own(scope.user, Provider.GITLAB)
