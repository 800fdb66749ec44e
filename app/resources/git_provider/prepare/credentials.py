"""Verification of tokens of the caller at their host before they are stored."""

from datetime import timedelta

from app.core.errors import PermissionDenied
from app.drivers.errors import ReconnectRequired
from app.drivers.git.accounts import InstallationToken, TokenRejected, TokenSet
from app.drivers.git.hosts import GitHosts
from app.drivers.git.rest.responses import RequestRefused
from app.models.base import utcnow_ms
from app.models.project import Provider
from app.resources.git_provider.credentials import RotatedTokens, VerifiedTokens
from app.resources.git_provider.schemas.credentials import CreateCredentialBody, RotateCredentialBody

INSTALLATION_LIFE = timedelta(hours=1)  # GitHub: installation access tokens expire after one hour


def verify_token(body: CreateCredentialBody, *, hosts: GitHosts) -> VerifiedTokens:
    """Read the account of a token from the host and check the installation.

    Raises:
        TokenRejected: the host refuses the token.
        PermissionDenied: the installation is not visible to the account.
    """
    token, installation_id = body.access_token, body.installation_id
    account = hosts.accounts(body.provider).whoami(token)
    if body.provider != Provider.GITHUB:
        installation_id = None
    if installation_id is not None:
        _check_sees(hosts, token, installation_id)
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


def _check_sees(hosts: GitHosts, token: str, installation_id: str) -> None:
    """Check that the account sees the installation, because other members will act through it."""
    _, accounts = hosts.github
    try:
        is_visible = accounts.can_access_installation(token, installation_id)
    except (ReconnectRequired, RequestRefused) as fault:
        raise TokenRejected from fault
    if not is_visible:
        raise PermissionDenied("This installation is not visible to your account", code="INSTALLATION_NOT_VISIBLE")
