"""Steps before the transactions that connect an account: states, codes and calls to the host."""

from app.access.scope import Scope
from app.core import clock
from app.core.errors import ErrorMessage, FieldError, InvalidRequest, PermissionDenied
from app.core.urls import split_url
from app.database import transactions
from app.drivers.errors import DriverError, ReconnectRequired
from app.drivers.git.account_ports import InstallationApp
from app.drivers.git.hosts import GitHosts
from app.drivers.git.rest.tokens import REJECTED, FixedToken
from app.extensions import current_settings, drivers
from app.models.git_credential import CredentialStatus, GitCredential
from app.models.project import Provider
from app.resources.git_provider import credentials, oauth_state, provider_selection
from app.resources.git_provider.connection_recovery import attempts
from app.resources.git_provider.credentials import VerifiedTokens
from app.resources.git_provider.oauth_state import OAuthState
from app.resources.git_provider.schemas.exchange import (
    ExchangeCodeBody,
    ExchangeInstallationBody,
    ExchangeInstallationQuery,
    StartConnectionBody,
)

REDIRECT_PATH = "/connect/provider_b"
A, B = "provider_a", "provider_b"


def start_a(scope: Scope) -> tuple[OAuthState, str]:
    """Create a state for provider A and return it with the URL of the provider."""
    attempt = oauth_state.begin("")
    return attempt, _hosts().github[0].start_url(attempt.state)


def start_b(scope: Scope, body: StartConnectionBody) -> tuple[OAuthState, str]:
    """Create a state with PKCE for provider B and return it with the URL of the provider."""
    app, _ = _hosts().gitlab
    attempt = oauth_state.begin(_own_page(body.redirect_uri) if body.redirect_uri else _redirect_uri())
    url = app.authorize_url(redirect_uri=attempt.redirect_uri, state=attempt.state, code_challenge=attempt.challenge)
    return attempt, url


def store_state(scope: Scope, provider: str, attempt: OAuthState, url: str) -> dict[str, str]:
    """Store the state for this session."""
    oauth_state.store(attempt, provider, scope.user, scope.session, limits=current_settings().limits.codes)
    return {"url": url}


def exchange_a(scope: Scope, body: ExchangeInstallationBody, query: ExchangeInstallationQuery) -> VerifiedTokens:
    """Exchange a code for the tokens of the user and of an installation that the user sees.

    Raises:
        InvalidRequest: the code or the installation is missing.
        InvalidState: the state is not one of this session.
        CodeRejected: the host refuses the code.
        PermissionDenied: the installation is not visible to the user.
    """
    code = _sent("code", body.code or query.code)
    installation_id = _sent("installation_id", body.installation_id or query.installation_id)
    app, accounts = _hosts().github
    _state(scope, A, body.state or query.state)
    with transactions.outside_transaction():
        tokens = app.exchange(code)
        token = FixedToken(tokens.access_token, clock.now())
        if not accounts.can_access_installation(token, installation_id):
            _revoke(app, tokens.access_token)
            raise PermissionDenied("This installation is not visible to your account", code="INSTALLATION_NOT_VISIBLE")
        account = accounts.whoami(token)
        return VerifiedTokens(tokens, account, installation_id, app.installation_token(installation_id, fresh=True))


def exchange_b(scope: Scope, body: ExchangeCodeBody) -> VerifiedTokens:
    """Exchange a code for the tokens of the user.

    Raises:
        InvalidState: the state is not one of this session.
        CodeRejected: the host refuses the code.
    """
    app, accounts = _hosts().gitlab
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
