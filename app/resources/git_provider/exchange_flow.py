"""Connecting an account, step by step before its transaction: states, codes, and what the host says of them."""

from app.core.errors import FieldError, Invalid, NotAllowed
from app.core.urls import parts_of
from app.drivers.errors import DriverError
from app.drivers.git.connections import InstallationApp
from app.drivers.git.hosts import GitHosts
from app.extensions import drivers
from app.http.configuration import settings
from app.http.scope import Scope
from app.models.git_credential import GitCredential
from app.models.project import Provider
from app.resources.git_provider import attempts, credentials, service
from app.resources.git_provider.attempts import Attempt
from app.resources.git_provider.credentials import Grant
from app.resources.git_provider.exchange_schemas import CodeBody, InstallationCodeBody, StartBody

REDIRECT_PATH = "/connect/provider_b"
A, B = "provider_a", "provider_b"


def start_a(_scope: Scope) -> tuple[Attempt, str]:
    """A new attempt at provider A, and where the browser goes now."""
    attempt = attempts.begin("")
    return attempt, _hosts().github[0].start_url(attempt.state)


def start_b(_scope: Scope, body: StartBody) -> tuple[Attempt, str]:
    """A new attempt at provider B, with PKCE, and where the browser goes now."""
    app, _ = _hosts().gitlab
    attempt = attempts.begin(_own_page(body["redirect_uri"]) if body["redirect_uri"] else _redirect_uri())
    url = app.authorize_url(redirect_uri=attempt.redirect_uri, state=attempt.state, code_challenge=attempt.challenge)
    return attempt, url


def keep(scope: Scope, provider: str, attempt: Attempt, url: str) -> dict[str, str]:
    """Keep the attempt for this session."""
    attempts.keep(attempt, provider, scope.actor, scope.session, limits=settings().limits.codes)
    return {"url": url}


def exchange_a(scope: Scope, body: InstallationCodeBody, query: InstallationCodeBody) -> Grant:
    """Turn a code into the user's tokens and an installation's, which the user must see.

    Raises:
        Invalid: the code or the installation is missing.
        InvalidState: the state is not this session's.
        CodeRejected: the host does not take the code.
        NotAllowed: the installation is not visible to that user.
    """
    code, installation_id = _one("code", body, query), _one("installation_id", body, query)
    app, accounts = _hosts().github
    _state(scope, A, body["state"] or query["state"])
    tokens = app.exchange(code)
    token = tokens.access_token
    if not accounts.sees(token, installation_id):
        _let_go(app, token)
        raise NotAllowed("This installation is not visible to your account", code="INSTALLATION_NOT_VISIBLE")
    account = accounts.whoami(token)
    return Grant(tokens, account, installation_id, app.installation_token(installation_id, fresh=True))


def exchange_b(scope: Scope, body: CodeBody) -> Grant:
    """Turn a code into the user's tokens.

    Raises:
        InvalidState: the state is not this session's.
        CodeRejected: the host does not take the code.
    """
    app, accounts = _hosts().gitlab
    attempt = _state(scope, B, body["state"])
    redirect_uri, verifier = body["redirect_uri"] or _redirect_uri(), body["code_verifier"]
    if attempt is not None:
        redirect_uri, verifier = attempt.redirect_uri, attempt.verifier
    tokens = app.exchange(body["code"], redirect_uri=redirect_uri, code_verifier=verifier)
    return Grant(tokens, accounts.whoami(tokens.access_token))


def refresh(scope: Scope, provider: Provider) -> str:
    """Renew the caller's tokens, and the installation's; returns the credential's id.

    Raises:
        NotFound: no such account is connected.
        NeedsReconnect: the host refuses.
    """
    seen: GitCredential = credentials.own(scope.actor, provider)
    return service.keeper(_hosts()).renew(seen, installation=True).id


def _state(scope: Scope, provider: str, state: str | None) -> Attempt | None:
    return attempts.take(state, provider, scope.actor, scope.session, required=settings().is_production)


def _one(name: str, body: InstallationCodeBody, query: InstallationCodeBody) -> str:
    found: str | None = body[name] or query[name]  # type: ignore[literal-required]
    if not found:
        raise Invalid(fields=[FieldError(name, "Missing data for required field.")])
    return found


def _let_go(app: InstallationApp, token: str) -> None:
    """A token that is not kept is ended, if the host does so."""
    try:
        app.revoke(token)
    except DriverError:
        return


def _redirect_uri() -> str:
    return f"{settings().server.web_url}{REDIRECT_PATH}"


def _own_page(address: str) -> str:
    """An absolute address of the web app. Raises NotAllowed."""
    server, parts = settings().server, parts_of(address)
    origin = f"{parts.scheme}://{parts.netloc}"
    if "\\" in address or origin not in {server.web_url, server.base_url, *server.allowed_origins}:
        raise NotAllowed("This address is not the web app's", code="INVALID_REDIRECT")
    return address


def _hosts() -> GitHosts:
    hosts: GitHosts = drivers["git"]
    return hosts
