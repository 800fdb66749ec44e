"""What connecting an account of a Git host gives: who it is, its tokens, and what it reaches; makes no call."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from app.core import clock
from app.drivers.errors import Rejected
from app.drivers.git.answers import parses
from app.drivers.git.port import Repository


class CodeRejected(Rejected):
    """The host does not take the code (422 `CODE_REJECTED`)."""

    def __init__(self, said: str) -> None:
        super().__init__(f"The Git host did not take the code: {said}", code="CODE_REJECTED")


class TokenRejected(Rejected):
    """The host does not take a token that the user gave (422 `TOKEN_REJECTED`)."""

    def __init__(self) -> None:
        super().__init__("The Git host does not take this token", code="TOKEN_REJECTED")


@dataclass(frozen=True)
class Account:
    """The account behind a token."""

    id: str
    login: str
    name: str | None


@dataclass(frozen=True)
class Tokens:
    """A user's tokens; the times are UTC, None where the host names none."""

    access_token: str = field(repr=False)
    token_type: str
    scopes: tuple[str, ...]
    expires_at: datetime | None
    refresh_token: str | None = field(repr=False)
    refresh_expires_at: datetime | None


@dataclass(frozen=True)
class InstallationToken:
    """An app's token for one installation."""

    token: str = field(repr=False)
    expires_at: datetime


@dataclass(frozen=True)
class Installation:
    """Where an app is installed."""

    id: str
    account_login: str


@dataclass(frozen=True)
class RepositoryPage:
    """Some of the repositories an account reaches; `cursor` asks for more, None when these were the last."""

    repositories: Sequence[Repository]
    cursor: str | None


@parses
def tokens(found: dict[str, Any]) -> Tokens:
    """The answer of a token endpoint (RFC 6749, section 5.1, and GitHub's life of refresh tokens)."""
    return Tokens(
        access_token=str(found["access_token"]),
        token_type=str(found.get("token_type") or "bearer").lower(),
        scopes=tuple(str(found.get("scope") or "").replace(",", " ").split()),
        expires_at=_after(found.get("expires_in")),
        refresh_token=found.get("refresh_token") or None,
        refresh_expires_at=_after(found.get("refresh_token_expires_in")),
    )


def _after(seconds: Any) -> datetime | None:
    return clock.now() + timedelta(seconds=int(seconds)) if seconds else None
