"""Values of connected accounts: account, tokens, installations and repositories."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from app.core import clock
from app.drivers.errors import UpstreamRejected
from app.drivers.git.port import RepositoryFacts
from app.drivers.git.rest.responses import parses


class CodeRejected(UpstreamRejected):
    """A code that the host rejected (422 `CODE_REJECTED`)."""

    def __init__(self, message: str) -> None:
        super().__init__(f"The Git host rejected the code: {message}", code="CODE_REJECTED")


class TokenRejected(UpstreamRejected):
    """A token of the user that the host rejected (422 `TOKEN_REJECTED`)."""

    def __init__(self) -> None:
        super().__init__("The Git host rejected this token", code="TOKEN_REJECTED")


@dataclass(frozen=True)
class GitAccount:
    """The account of a token."""

    id: str
    login: str
    name: str | None


@dataclass(frozen=True)
class TokenSet:
    """The tokens of a user. The times are UTC, or None if the host does not report them."""

    access_token: str = field(repr=False)
    token_type: str
    scopes: tuple[str, ...]
    expires_at: datetime | None
    refresh_token: str | None = field(repr=False)
    refresh_expires_at: datetime | None


@dataclass(frozen=True)
class InstallationToken:
    """A token of the app for one installation."""

    token: str = field(repr=False)
    expires_at: datetime
    issued_at: datetime = field(default_factory=clock.now)


@dataclass(frozen=True)
class AppInstallation:
    """An installation of the app."""

    id: str
    account_login: str


@dataclass(frozen=True)
class RepositoryPage:
    """A page of the repositories that an account can reach. `cursor` is None on the last page."""

    repositories: Sequence[RepositoryFacts]
    cursor: str | None


@parses
def tokens(data: dict[str, Any]) -> TokenSet:
    """Parse the response of a token endpoint (RFC 6749, section 5.1, and the lifetime of GitHub's refresh tokens)."""
    return TokenSet(
        access_token=str(data["access_token"]),
        token_type=str(data.get("token_type") or "bearer").lower(),
        scopes=tuple(str(data.get("scope") or "").replace(",", " ").split()),
        expires_at=_after(data.get("expires_in")),
        refresh_token=data.get("refresh_token") or None,
        refresh_expires_at=_after(data.get("refresh_token_expires_in")),
    )


def _after(seconds: Any) -> datetime | None:
    return clock.now() + timedelta(seconds=int(seconds)) if seconds else None
