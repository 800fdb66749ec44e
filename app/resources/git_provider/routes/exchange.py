"""Routes that connect an account of a Git host (spec 4.12): start, exchange of the code, refresh of the tokens."""

from functools import partial

from app.access.guards import verified
from app.access.scope import Scope
from app.access.tokens import MANAGES
from app.core.limits import InputLimits
from app.core.outbound import UnrecordedAct
from app.database import transactions
from app.drivers.errors import ReconnectRequired
from app.drivers.git.rest.tokens import REJECTED
from app.extensions import drivers
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import UPSTREAM, endpoint
from app.models.git_credential import CredentialStatus, GitCredential
from app.models.project import Provider
from app.resources.git_provider import actions, credentials, provider_selection
from app.resources.git_provider.connection_recovery import attempts
from app.resources.git_provider.guards import EXCHANGE, START
from app.resources.git_provider.schemas import (
    PROVIDER_A,
    PROVIDER_B,
    CredentialSchema,
    ExchangeCodeBody,
    ExchangeInstallationBody,
    ExchangeInstallationQuery,
    StartConnectionBody,
    StartedConnectionSchema,
)

MAX_BYTES = InputLimits.auth_bytes


def refresh(scope: Scope, provider: Provider) -> str:
    """Refresh the tokens of the caller and of the installation. Return the id of the credential.

    Raises:
        NotFound: no account of the provider is connected.
        ReconnectRequired: the host refuses.
    """
    row: GitCredential = credentials.own(scope.caller, provider)
    refresher = provider_selection.token_refresher(drivers.git)
    is_recovering = row.status != CredentialStatus.ACTIVE
    if is_recovering and not attempts.begin(row.id):
        raise ReconnectRequired(REJECTED)
    try:
        with transactions.outside_transaction():
            renewed = refresher.renew(row, installation=True, recovering=is_recovering)
    except ReconnectRequired:
        attempts.rejected(row.id)
        raise
    if is_recovering:
        attempts.succeeded(row.id)
        refresher.reactivate(renewed)
    return renewed.id


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


start = partial(
    endpoint,
    **vars(START),
    result=StartedConnectionSchema,
    message="Continue at the provider",
    max_bytes=MAX_BYTES,
    errors=("INVALID_REDIRECT", "PROVIDER_NOT_CONFIGURED"),
)
connect = partial(
    endpoint,
    **vars(EXCHANGE),
    result=CredentialSchema,
    message="Account connected",
    max_bytes=MAX_BYTES,
    errors=(
        *("CODE_REJECTED", "INVALID_STATE", "INVALID_REDIRECT", "INSTALLATION_NOT_VISIBLE", "PROVIDER_NOT_CONFIGURED"),
        *UPSTREAM,
    ),
)
refresh_tokens = partial(
    endpoint,
    guard=verified(token=MANAGES),
    result=CredentialSchema,
    message="Tokens refreshed",
    max_bytes=MAX_BYTES,
    rate="provider_refresh",
    errors=("NOT_FOUND", "NEEDS_RECONNECT", "PROVIDER_NOT_CONFIGURED", *UPSTREAM),
)


@blueprint.post("/provider_a/start")
@start(operation_id="startProviderA")
def start_a(*, scope: Scope) -> UnrecordedAct[dict[str, str]]:
    """Start to connect an installation and return the URL of the provider."""
    return actions.start_a(scope.user, scope.session, hosts=drivers.git)


@blueprint.post("/provider_b/start")
@start(operation_id="startProviderB", body=StartConnectionBody)
def start_b(*, scope: Scope, body: StartConnectionBody) -> UnrecordedAct[dict[str, str]]:
    """Start to connect an account and return the URL of the provider."""
    return actions.start_b(scope.user, scope.session, **vars(body), hosts=drivers.git)


@blueprint.post("/provider_a")
@connect(operation_id="connectProviderA", body=ExchangeInstallationBody, query=ExchangeInstallationQuery)
def exchange_a(
    *, scope: Scope, body: ExchangeInstallationBody, query: ExchangeInstallationQuery
) -> UnrecordedAct[GitCredential]:
    """Exchange the code of an installation and store the tokens."""
    values = {name: value or getattr(query, name) for name, value in vars(body).items()}
    return actions.exchange_a(scope.user, scope.session, **values, hosts=drivers.git)


@blueprint.post("/provider_b")
@connect(operation_id="connectProviderB", body=ExchangeCodeBody)
def exchange_b(*, scope: Scope, body: ExchangeCodeBody) -> UnrecordedAct[GitCredential]:
    """Exchange an authorization code and store the tokens."""
    return actions.exchange_b(scope.user, scope.session, **vars(body), hosts=drivers.git)


@blueprint.post("/provider_a/refresh")
@refresh_tokens(operation_id="refreshProviderA", upstream=partial(refresh, provider=PROVIDER_A))
def refresh_a(*, scope: Scope, prepared: str) -> GitCredential:
    """Refresh the tokens of the caller and of the installation."""
    return credentials.own(scope.user, PROVIDER_A)


@blueprint.post("/provider_b/refresh")
@refresh_tokens(operation_id="refreshProviderB", upstream=partial(refresh, provider=PROVIDER_B))
def refresh_b(*, scope: Scope, prepared: str) -> GitCredential:
    """Refresh the tokens of the caller."""
    return credentials.own(scope.user, PROVIDER_B)
