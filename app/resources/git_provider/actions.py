"""Use cases of accounts at Git hosts: the start of a connection, the exchange of its code, and a new repository.

Provider A connects an installation, provider B an account with PKCE.
"""

from app.core import clock
from app.core.errors import ErrorMessage, FieldError, InvalidRequest, PermissionDenied
from app.core.ids import HasId
from app.core.outbound import UnrecordedAct
from app.core.urls import split_url
from app.database import transactions
from app.drivers.errors import DriverError
from app.drivers.git.account_ports import InstallationApp
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import RepositoryFacts
from app.drivers.git.rest.tokens import FixedToken
from app.extensions import current_settings, keyring
from app.models.git_credential import GitCredential
from app.models.organization import Organization
from app.models.user import User
from app.resources.git_provider import credentials, oauth_state, repositories
from app.resources.git_provider.credentials import VerifiedTokens
from app.resources.git_provider.oauth_state import OAuthState
from app.resources.git_provider.schemas import PROVIDER_A, PROVIDER_B

REDIRECT_PATH = "/connect/provider_b"
A, B = "provider_a", "provider_b"


def start_a(user: User, session: HasId, *, hosts: GitHosts) -> UnrecordedAct[dict[str, str]]:
    """Create a state for provider A, store it for the session and return the URL of the provider."""
    attempt = oauth_state.begin("")
    return _started(A, attempt, hosts.installations(PROVIDER_A)[0].start_url(attempt.state), user, session)


def start_b(
    user: User, session: HasId, *, redirect_uri: str | None = None, hosts: GitHosts
) -> UnrecordedAct[dict[str, str]]:
    """Create a state with PKCE for provider B, store it for the session and return the URL of the provider."""
    app, _ = hosts.oauth(PROVIDER_B)
    attempt = oauth_state.begin(_own_page(redirect_uri) if redirect_uri else _redirect_uri())
    url = app.authorize_url(redirect_uri=attempt.redirect_uri, state=attempt.state, code_challenge=attempt.challenge)
    return _started(B, attempt, url, user, session)


STARTS = {PROVIDER_A: start_a, PROVIDER_B: start_b}


def _started(provider: str, attempt: OAuthState, url: str, user: User, session: HasId) -> UnrecordedAct[dict[str, str]]:
    def record() -> dict[str, str]:
        oauth_state.store(attempt, provider, user, session, limits=current_settings().limits.codes)
        return {"url": url}

    return UnrecordedAct(record)


def exchange_a(
    user: User, session: HasId, *, code: str | None, installation_id: str | None, state: str | None, hosts: GitHosts
) -> UnrecordedAct[GitCredential]:
    """Exchange a code for the tokens of the user and of an installation that the user sees, and store them.

    Raises:
        InvalidRequest: the code or the installation is missing.
        InvalidState: the state is not one of this session.
        CodeRejected: the host refuses the code.
        PermissionDenied: the installation is not visible to the user.
    """
    code, installation_id = _sent("code", code), _sent("installation_id", installation_id)
    app, accounts = hosts.installations(PROVIDER_A)
    _redeem(state, A, user, session)
    with transactions.outside_transaction():
        tokens = app.exchange(code)
        token = FixedToken(tokens.access_token, clock.now())
        if not accounts.can_access_installation(token, installation_id):
            _revoke(app, tokens.access_token)
            raise PermissionDenied("This installation is not visible to your account", code="INSTALLATION_NOT_VISIBLE")
        account = accounts.whoami(token)
        installation = app.installation_token(installation_id, fresh=True)
        verified = VerifiedTokens(tokens, account, installation_id, installation)
    return UnrecordedAct(lambda: credentials.store(user, PROVIDER_A, verified, ring=keyring)[0])


def exchange_b(
    user: User,
    session: HasId,
    *,
    code: str,
    state: str | None,
    redirect_uri: str | None = None,
    code_verifier: str | None = None,
    hosts: GitHosts,
) -> UnrecordedAct[GitCredential]:
    """Exchange a code for the tokens of the user and store them.

    Raises:
        InvalidState: the state is not one of this session.
        CodeRejected: the host refuses the code.
    """
    app, accounts = hosts.oauth(PROVIDER_B)
    attempt = _redeem(state, B, user, session)
    redirect_uri = redirect_uri or _redirect_uri()
    if attempt is not None:
        redirect_uri, code_verifier = attempt.redirect_uri, attempt.verifier
    with transactions.outside_transaction():
        tokens = app.exchange(code, redirect_uri=redirect_uri, code_verifier=code_verifier)
        verified = VerifiedTokens(tokens, accounts.whoami(FixedToken(tokens.access_token, clock.now())))
    return UnrecordedAct(lambda: credentials.store(user, PROVIDER_B, verified, ring=keyring)[0])


def create_repository(organization: Organization, name: str, *, hosts: GitHosts) -> UnrecordedAct[RepositoryFacts]:
    """Create a local repository for an organization. Raises as `repositories.make` and `record_owner`."""
    repository = repositories.make(organization, name, hosts=hosts)
    return UnrecordedAct(lambda: repositories.record_owner(organization, repository))


def _redeem(state: str | None, provider: str, user: User, session: HasId) -> OAuthState | None:
    return oauth_state.redeem(state, provider, user, session, required=current_settings().is_production)


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
