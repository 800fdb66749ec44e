"""API tokens of requests: the `Authorization` header, the lookup of a token and the rules of guards for tokens."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from flask import Request

from app.access.caller import USER_COLUMNS, Caller, needs_second_factor, read_row
from app.access.scope import Scope
from app.core import clock
from app.core.api_tokens import TokenGrant, TokenScope
from app.core.errors import NotAuthenticated, PermissionDenied
from app.models.base import UtcDateTime
from app.models.login import ApiToken, Passkey
from app.models.organization import Membership
from app.models.user import User
from app.security.secrets import hash_token, is_api_token

SCHEME = "bearer"
_READ = frozenset({TokenScope.READ})
_MEMBER = sa.exists().where(
    Membership.organization_id == ApiToken.organization_id, Membership.user_id == ApiToken.user_id
)
_NEEDS_FACTOR = needs_second_factor(sa.or_(User.two_factor_enabled, sa.exists().where(Passkey.user_id == User.id)))
CONDITIONS = {
    "secret": ApiToken.token_hash == sa.bindparam("token_hash"),
    "expiry": ApiToken.expires_at > sa.bindparam("now", type_=UtcDateTime()),
    "revocation": ApiToken.revoked_at.is_(None),
    "membership": sa.or_(ApiToken.organization_id.is_(None), _MEMBER),
}
"""The conditions of a valid token, with the parameters `token_hash` and `now`."""


class InvalidApiToken(NotAuthenticated):
    """A request with an unknown, mistyped, expired or revoked API token (401)."""

    code, message = "INVALID_API_TOKEN", "The API token is not valid. Create or rotate a token"

    def __init__(self) -> None:
        super().__init__(headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})


class SessionRequired(PermissionDenied):
    """A request of an API token that only a signed-in user may send (403)."""

    code, message = "SESSION_REQUIRED", "An API token cannot do this. Sign in to continue"


class ScopeMissing(PermissionDenied):
    """A request that needs a scope which the API token does not have (403)."""

    code = "TOKEN_SCOPE_MISSING"

    def __init__(self, *scopes: TokenScope) -> None:
        super().__init__(f"The API token needs the scope {' or '.join(sorted(scopes))}")


class ProjectNotPermitted(PermissionDenied):
    """A request outside the projects or the organization of the API token (403)."""

    code, message = "TOKEN_PROJECT_NOT_PERMITTED", "The API token is not valid for this project or organization"


@dataclass(frozen=True)
class TokenRule:
    """The scopes that a guard requires of API tokens: one of `read` for a safe method, one of `change` for others.

    Without a scope the guard refuses all tokens.
    """

    read: frozenset[TokenScope] = frozenset()
    change: frozenset[TokenScope] = frozenset()

    def needed(self, *, is_read: bool) -> frozenset[TokenScope]:
        """Return the scopes of which a token needs one."""
        return self.read if is_read else self.change

    def check(self, grant: TokenGrant, scope: Scope, *, is_read: bool) -> None:
        """Check the scopes and the targets of a token.

        Raises:
            SessionRequired, ScopeMissing, ProjectNotPermitted: the rule rejects the token.
        """
        needed = self.needed(is_read=is_read)
        if not needed:
            raise SessionRequired
        if not needed & grant.scopes:
            raise ScopeMissing(*needed)
        organizations = [
            organization.id for organization in (scope.organization, scope.destination) if organization is not None
        ]
        if not grant.covers(scope.project.id if scope.project is not None else None, organizations):
            raise ProjectNotPermitted


SESSION_ONLY = TokenRule()
READS = TokenRule(_READ, _READ)
EDITS = TokenRule(_READ, frozenset({TokenScope.WRITE}))
COMMITS = TokenRule(_READ, frozenset({TokenScope.WRITE, TokenScope.PUBLISH}))
PUBLISHES = TokenRule(_READ, frozenset({TokenScope.PUBLISH}))
MANAGES = TokenRule(_READ, frozenset({TokenScope.ADMIN}))


def check_branch(grant: TokenGrant | None, branch: str | None, working_branch: str) -> None:
    """Check that a token may write to a branch. None is the working branch.

    Raises:
        ScopeMissing: the working branch needs `publish`, other branches need `write`.
    """
    needed = TokenScope.PUBLISH if branch in (None, working_branch) else TokenScope.WRITE
    if grant is not None and needed not in grant.scopes:
        raise ScopeMissing(needed)


def bearer_of(request: Request) -> str | None:
    """Return the credentials of an `Authorization: Bearer` header, or None for a request without one."""
    scheme, _, value = request.headers.get("Authorization", "").strip().partition(" ")
    return value.strip() if scheme.lower() == SCHEME else None


def caller_of_api_token(token: str) -> Caller | None:
    """Return the owner of a valid token with its rights, or None. A mistyped token costs no query.

    The token of a service account ends when the owner leaves the organization.
    """
    if not is_api_token(token):
        return None
    parameters = {"token_hash": hash_token(token), "now": clock.now()}
    row = read_row(_VALID_TOKEN, parameters)
    if row is None:
        return None
    *user, token_id, name, scopes, projects, organization_id, last_used_at, is_factor_missing = row
    grant = TokenGrant(
        token_id,
        name,
        frozenset(map(TokenScope, scopes)),
        None if projects is None else frozenset(projects),
        organization_id,
    )
    return Caller(*user, grant=grant, token_used_at=last_used_at, needs_second_factor=bool(is_factor_missing))


def select_token(conditions: Iterable[sa.ColumnElement[bool]]) -> sa.Select[*tuple[Any, ...]]:
    """Return the statement that reads the owner and the rights of a token."""
    token = (ApiToken.id, ApiToken.name, ApiToken.scopes, ApiToken.projects, ApiToken.organization_id)
    return (
        sa.select(
            *USER_COLUMNS,
            *token,
            ApiToken.last_used_at,
            _NEEDS_FACTOR,
        )
        .join_from(User, ApiToken, ApiToken.user_id == User.id)
        .where(*conditions)
    )


# Built once: the construction of a statement costs more than its execution.
_VALID_TOKEN = select_token(CONDITIONS.values())
