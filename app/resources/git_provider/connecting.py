"""Tokens that a caller brings: tried at their host before they are kept."""

from datetime import timedelta

from app.core.errors import NotAllowed
from app.drivers.errors import NeedsReconnect
from app.drivers.git.accounts import InstallationToken, TokenRejected, Tokens
from app.drivers.git.answers import Refusal
from app.drivers.git.hosts import GitHosts
from app.models.base import moment
from app.models.project import Provider
from app.resources.git_provider.credentials import Grant, Rotated
from app.resources.git_provider.schemas import NewCredentialBody, RotatedPairBody

INSTALLATION_LIFE = timedelta(hours=1)  # GitHub: installation access tokens expire after one hour


def tried(body: NewCredentialBody, *, hosts: GitHosts) -> Grant:
    """Ask the host whose token it is, and whether that user sees the installation.

    Raises:
        TokenRejected: the host does not take the token.
        NotAllowed: the installation is not visible to that user.
    """
    token, installation_id = body["access_token"], body["installation_id"]
    account = hosts.accounts(body["provider"]).whoami(token)
    if body["provider"] != Provider.GITHUB:
        installation_id = None
    if installation_id is not None:
        _check_sees(hosts, token, installation_id)
    tokens = Tokens(
        token, body["token_type"].lower(), (), body["access_token_expires_at"], body["refresh_token"],
        body["refresh_token_expires_at"],
    )  # fmt: skip
    brought = body["installation_access_token"] if installation_id else None
    return Grant(
        tokens, account, installation_id, InstallationToken(brought, moment() + INSTALLATION_LIFE) if brought else None
    )


def rotated(body: RotatedPairBody) -> tuple[Provider, str, Rotated]:
    """What a caller renewed, and where it belongs."""
    pair = Rotated(
        body["access_token"], body["refresh_token"], body["access_token_expires_at"], body["refresh_token_expires_at"]
    )
    return body["provider"], body["old_refresh_token"], pair


def _check_sees(hosts: GitHosts, token: str, installation_id: str) -> None:
    """An installation is acted with on others' behalf, so nobody may name one that is not theirs."""
    _, accounts = hosts.github
    try:
        seen = accounts.sees(token, installation_id)
    except (NeedsReconnect, Refusal) as fault:
        raise TokenRejected from fault
    if not seen:
        raise NotAllowed("This installation is not visible to your account", code="INSTALLATION_NOT_VISIBLE")
