"""Routes that connect an account of a Git host (spec 4.12): start, exchange of the code, refresh of the tokens."""

from collections.abc import Callable, Mapping
from functools import partial

from flask import Response

from app.access.guards import verified
from app.access.scope import Scope
from app.access.tokens import MANAGES
from app.core import clock
from app.core.errors import ErrorMessage, FieldError, InvalidRequest, PermissionDenied
from app.core.limits import InputLimits
from app.core.urls import split_url
from app.database import transactions
from app.drivers.errors import DriverError, ReconnectRequired
from app.drivers.git.account_ports import InstallationApp
from app.drivers.git.hosts import GitHosts
from app.drivers.git.rest.tokens import REJECTED, FixedToken
from app.extensions import current_settings, drivers, keyring
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import UPSTREAM, endpoint
from app.models.git_credential import CredentialStatus, GitCredential
from app.models.project import Provider
from app.resources.git_provider import credentials, oauth_state, provider_selection
from app.resources.git_provider.connection_recovery import attempts
from app.resources.git_provider.credentials import VerifiedTokens
from app.resources.git_provider.oauth_state import OAuthState
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

REDIRECT_PATH = "/connect/provider_b"
A, B = "provider_a", "provider_b"
MAX_BYTES = InputLimits.auth_bytes
WITH_STATE = verified(
    "verifyAuth + state",
    description="Needs a user with a verified e-mail address. The state of the start is checked.",
)


def begin_a(scope: Scope) -> tuple[OAuthState, str]:
    """Create a state for provider A and return it with the URL of the provider."""
    attempt = oauth_state.begin("")
    return attempt, _hosts().installations(PROVIDER_A)[0].start_url(attempt.state)


def begin_b(scope: Scope, body: StartConnectionBody) -> tuple[OAuthState, str]:
    """Create a state with PKCE for provider B and return it with the URL of the provider."""
    app, _ = _hosts().oauth(PROVIDER_B)
    attempt = oauth_state.begin(_own_page(body.redirect_uri) if body.redirect_uri else _redirect_uri())
    url = app.authorize_url(redirect_uri=attempt.redirect_uri, state=attempt.state, code_challenge=attempt.challenge)
    return attempt, url


def store_state(scope: Scope, provider: str, attempt: OAuthState, url: str) -> dict[str, str]:
    """Store the state for this session."""
    oauth_state.store(attempt, provider, scope.user, scope.session, limits=current_settings().limits.codes)
    return {"url": url}


def redeem_a(scope: Scope, body: ExchangeInstallationBody, query: ExchangeInstallationQuery) -> VerifiedTokens:
    """Exchange a code for the tokens of the user and of an installation that the user sees.

    Raises:
        InvalidRequest: the code or the installation is missing.
        InvalidState: the state is not one of this session.
        CodeRejected: the host refuses the code.
        PermissionDenied: the installation is not visible to the user.
    """
    code = _sent("code", body.code or query.code)
    installation_id = _sent("installation_id", body.installation_id or query.installation_id)
    app, accounts = _hosts().installations(PROVIDER_A)
    _state(scope, A, body.state or query.state)
    with transactions.outside_transaction():
        tokens = app.exchange(code)
        token = FixedToken(tokens.access_token, clock.now())
        if not accounts.can_access_installation(token, installation_id):
            _revoke(app, tokens.access_token)
            raise PermissionDenied("This installation is not visible to your account", code="INSTALLATION_NOT_VISIBLE")
        account = accounts.whoami(token)
        return VerifiedTokens(tokens, account, installation_id, app.installation_token(installation_id, fresh=True))


def redeem_b(scope: Scope, body: ExchangeCodeBody) -> VerifiedTokens:
    """Exchange a code for the tokens of the user.

    Raises:
        InvalidState: the state is not one of this session.
        CodeRejected: the host refuses the code.
    """
    app, accounts = _hosts().oauth(PROVIDER_B)
    attempt = _state(scope, B, body.state)
    redirect_uri, verifier = body.redirect_uri or _redirect_uri(), body.code_verifier
    if attempt is not None:
        redirect_uri, verifier = attempt.redirect_uri, attempt.verifier
    with transactions.outside_transaction():
        tokens = app.exchange(body.code, redirect_uri=redirect_uri, code_verifier=verifier)
        return VerifiedTokens(tokens, accounts.whoami(FixedToken(tokens.access_token, clock.now())))


def refresh(scope: Scope, provider: Provider) -> str:
    """Refresh the tokens of the caller and of the installation. Return the id of the credential.

    Raises:
        NotFound: no account of the provider is connected.
        ReconnectRequired: the host refuses.
    """
    row: GitCredential = credentials.own(scope.user, provider)
    refresher = provider_selection.token_refresher(_hosts())
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


def _state(scope: Scope, provider: str, state: str | None) -> OAuthState | None:
    required = current_settings().is_production
    return oauth_state.redeem(state, provider, scope.user, scope.session, required=required)


def _sent(name: str, value: str | None) -> str:
    if not value:
        raise InvalidRequest(fields=[FieldError(name, ErrorMessage("Missing data for required field."))])
    return value


def _revoke(app: InstallationApp, token: str) -> None:
    """Revoke a token that is not stored. A failure is ignored."""
    try:
        app.revoke(token)
    except DriverError:
        return


def _redirect_uri() -> str:
    return f"{current_settings().server.web_url}{REDIRECT_PATH}"


def _own_page(address: str) -> str:
    """Check an absolute URL of the web app.

    Raises:
        PermissionDenied: the URL has another origin.
    """
    server, parts = current_settings().server, split_url(address)
    origin = f"{parts.scheme}://{parts.netloc}"
    if "\\" in address or origin not in {server.web_url, server.base_url, *server.allowed_origins}:
        raise PermissionDenied("The URL is not on an allowed origin", code="INVALID_REDIRECT")
    return address


def _hosts() -> GitHosts:
    hosts: GitHosts = drivers.git
    return hosts


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
    guard=verified(),
    result=StartedConnectionSchema,
    message="Continue at the provider",
    max_bytes=MAX_BYTES,
    rate="provider_exchange",
    errors=("INVALID_REDIRECT", "PROVIDER_NOT_CONFIGURED"),
)
connect = partial(
    endpoint,
    guard=WITH_STATE,
    result=CredentialSchema,
    message="Account connected",
    max_bytes=MAX_BYTES,
    rate="provider_exchange",
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
@start(operation_id="startProviderA", upstream=begin_a)
def start_a(*, scope: Scope, prepared: tuple[OAuthState, str]) -> dict[str, str]:
    """Start to connect an installation and return the URL of the provider."""
    return store_state(scope, A, *prepared)


@blueprint.post("/provider_b/start")
@start(operation_id="startProviderB", body=StartConnectionBody, upstream=begin_b)
def start_b(*, scope: Scope, body: StartConnectionBody, prepared: tuple[OAuthState, str]) -> dict[str, str]:
    """Start to connect an account and return the URL of the provider."""
    return store_state(scope, B, *prepared)


STARTS: Mapping[str, Callable[..., Response]] = {PROVIDER_A: start_a, PROVIDER_B: start_b}


@blueprint.post("/provider_a")
@connect(
    operation_id="connectProviderA", body=ExchangeInstallationBody, query=ExchangeInstallationQuery, upstream=redeem_a
)
def exchange_a(
    *, scope: Scope, body: ExchangeInstallationBody, query: ExchangeInstallationQuery, prepared: VerifiedTokens
) -> GitCredential:
    """Exchange the code of an installation and store the tokens."""
    return credentials.store(scope.user, PROVIDER_A, prepared, ring=keyring)[0]


@blueprint.post("/provider_b")
@connect(operation_id="connectProviderB", body=ExchangeCodeBody, upstream=redeem_b)
def exchange_b(*, scope: Scope, body: ExchangeCodeBody, prepared: VerifiedTokens) -> GitCredential:
    """Exchange an authorization code and store the tokens."""
    return credentials.store(scope.user, PROVIDER_B, prepared, ring=keyring)[0]


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
