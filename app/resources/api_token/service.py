"""Rules of API tokens: creation, change, rotation and deletion."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from app.core.api_tokens import TokenScope
from app.core.errors import Conflict, InvalidRequest, LimitReached, NotFound, PermissionDenied
from app.core.limits import TokenLimits
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.login import ApiToken
from app.models.organization import Membership, Organization
from app.models.project import Project, role_in_project
from app.models.user import User
from app.security.secrets import hash_token, hint_of, new_api_token


@dataclass(frozen=True)
class IssuedToken:
    """A token with its secret, which is not stored."""

    row: ApiToken
    secret: str


@dataclass(frozen=True, kw_only=True)
class TokenValues:
    """The values of a new token.

    `projects` None stands for all projects, `expires_at` None for the default lifetime.
    """

    name: str
    scopes: Sequence[TokenScope]
    projects: Sequence[str] | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class TokenChanges:
    """The new values of a token. None keeps a value; `all_projects` removes the restriction to some projects."""

    name: str | None = None
    scopes: Sequence[TokenScope] | None = None
    projects: Sequence[str] | None = None
    all_projects: bool = False
    expires_at: datetime | None = None


def create(
    values: TokenValues, *, by: User, organization: Organization | None = None, limits: TokenLimits
) -> IssuedToken:
    """Create a personal token of `by`, or a service account of an organization.

    Raises:
        TooManyTokens: the user or the organization has the maximum number of tokens.
        NotFound, PermissionDenied, InvalidRequest: a project does not exist, or the token cannot reach it.
        InvalidRequest: the expiry is not in the permitted range.
        MembershipEnded: `by` is not a member of the organization.
    """
    _lock_owner(by, organization)
    _check_number(by, organization, limits)
    now, secret = utcnow_ms(), new_api_token()
    row = ApiToken(
        user_id=by.id,
        organization_id=organization.id if organization else None,
        name=values.name,
        scopes=_sorted(values.scopes),
        projects=_reachable(values.projects, by=by, organization=organization),
        expires_at=_expiry(values.expires_at, now, limits),
        issued_at=now,
        token_hash=hash_token(secret),
        token_hint=hint_of(secret),
    )
    db.session.add(row)
    db.session.flush()
    return IssuedToken(row, secret)


def update(
    token: ApiToken,
    changes: TokenChanges,
    *,
    by: User,
    organization: Organization | None = None,
    limits: TokenLimits,
) -> ApiToken:
    """Change a token. The member who changes a service account becomes its owner and limits its rights.

    Raises:
        NotFound: another request deleted the token.
        The errors of `create`.
    """
    _check_member(by, organization)
    projects = _reachable(changes.projects, by=by, organization=organization)
    row = _locked(token)
    _take_over(row, by)
    if changes.name is not None:
        row.name = changes.name
    if changes.scopes is not None:
        row.scopes = _sorted(changes.scopes)
    if changes.projects is not None or changes.all_projects:
        row.projects = projects
    if changes.expires_at is not None:
        row.expires_at = _expiry(changes.expires_at, utcnow_ms(), limits)
    db.session.flush()
    return row


def rotate(
    token: ApiToken,
    *,
    by: User,
    organization: Organization | None = None,
    expires_at: datetime | None = None,
    limits: TokenLimits,
) -> IssuedToken:
    """Replace the secret of a token.

    The previous secret is invalid at once. A revoked or expired token becomes valid again.

    Without `expires_at` the lifetime of the previous secret is repeated, up to the longest lifetime. The member who
    rotates a service account becomes its owner.

    Raises:
        NotFound: another request deleted the token.
        The errors of `create`.
    """
    _check_member(by, organization)
    row = _locked(token)
    _take_over(row, by)
    now, secret = utcnow_ms(), new_api_token()
    lifetime = min(row.expires_at - row.issued_at, timedelta(seconds=limits.absolute_s))
    row.expires_at = _expiry(expires_at, now, limits) if expires_at else now + lifetime
    row.issued_at, row.revoked_at, row.last_used_at = now, None, None
    row.token_hash, row.token_hint = hash_token(secret), hint_of(secret)
    db.session.flush()
    return IssuedToken(row, secret)


def delete(token: ApiToken) -> str:
    """Delete a token, which ends its validity, and return its id. Raises NotFound if another request deleted it."""
    row = _locked(token)
    db.session.delete(row)
    db.session.flush()
    return row.id


def _locked(token: ApiToken) -> ApiToken:
    """Lock the row of a token and read it again. Raises NotFound."""
    row = db.session.scalar(
        sa.select(ApiToken).where(ApiToken.id == token.id).with_for_update().execution_options(populate_existing=True)
    )
    if row is None:
        raise NotFound("The token does not exist")
    return row


def _lock_owner(by: User, organization: Organization | None) -> None:
    """Lock the row whose tokens are counted, and check the membership of the owner of a service account."""
    locked = sa.select(User.id).where(User.id == by.id)
    if organization is not None:
        locked = sa.select(Organization.id).where(Organization.id == organization.id)
    db.session.execute(locked.with_for_update(key_share=True)).all()
    _check_member(by, organization)


def _check_member(by: User, organization: Organization | None) -> None:
    if organization is not None and organization.id not in _lock_memberships(by):
        raise MembershipEnded


def _take_over(row: ApiToken, by: User) -> None:
    """Make `by` the owner of a service account."""
    if row.organization_id is not None:
        row.user_id = by.id


def _check_number(by: User, organization: Organization | None, limits: TokenLimits) -> None:
    mine = sa.and_(ApiToken.user_id == by.id, ApiToken.organization_id.is_(None))
    where = mine if organization is None else ApiToken.organization_id == organization.id
    number = db.session.scalar(sa.select(sa.func.count()).select_from(ApiToken).where(where)) or 0
    if number >= (limits.per_user if organization is None else limits.per_organization):
        raise TooManyTokens


def _reachable(projects: Sequence[str] | None, *, by: User, organization: Organization | None) -> list[str] | None:
    """Return the projects without duplicates if the token can reach all of them."""
    if projects is None:
        return None
    unique = list(dict.fromkeys(projects))
    permitted = _lock_memberships(by) if organization is None else {organization.id}
    named = sa.select(Project.id, Project.organization_id, role_in_project(by.id)).where(Project.id.in_(unique))
    rows = {row[0]: row for row in db.session.execute(named)}
    for position, project_id in enumerate(unique):
        if project_id not in rows:
            raise NotFound("Project not found")
        _, owner, role = rows[project_id]
        if owner not in permitted and organization is not None:
            raise InvalidRequest.field(f"projects.{position}", "The project belongs to another organization")
        if owner not in permitted or role is None:
            raise PermissionDenied("You are not a member of the organization of a project")
    return unique


def _lock_memberships(user: User) -> set[str]:
    """Return the organizations of a user. The memberships cannot end before the transaction ends.

    Call this before the row of a token is locked: the end of a membership locks the rows in the same order.
    """
    mine = sa.select(Membership.organization_id).where(Membership.user_id == user.id)
    return set(db.session.scalars(mine.with_for_update(read=True, key_share=True)))


def _expiry(requested: datetime | None, now: datetime, limits: TokenLimits) -> datetime:
    """Return the end of a token that is issued now. Raises InvalidRequest."""
    if requested is None:
        return now + timedelta(seconds=limits.default_s)
    latest = now + timedelta(seconds=limits.absolute_s)
    if not now < requested <= latest:
        days = limits.absolute_s // 86_400
        raise InvalidRequest.field("expires_at", f"The expiry must be in the future, at most {days} days from now")
    return requested.replace(microsecond=requested.microsecond // 1000 * 1000)


def _sorted(scopes: Iterable[TokenScope]) -> list[str]:
    """Return the scopes without duplicates in their usual order."""
    chosen = set(scopes)
    return [str(scope) for scope in TokenScope if scope in chosen]


class TooManyTokens(LimitReached):
    """A token beyond the limit of the user or organization (403)."""

    message = "The limit of API tokens has been reached. Delete one first"


class MembershipEnded(Conflict):
    """A change of a service account by a user who is not a member of its organization (409)."""

    code, message = "MEMBERSHIP_ENDED", "The owner of a service account must be a member of its organization"


def of_user(user_id: str) -> Sequence[ApiToken]:
    """Return the personal tokens of a user, newest first."""
    return _all(sa.and_(ApiToken.user_id == user_id, ApiToken.organization_id.is_(None)))


def of_organization(organization_id: str) -> Sequence[ApiToken]:
    """Return the service accounts of an organization, newest first."""
    return _all(ApiToken.organization_id == organization_id)


def _all(where: sa.ColumnElement[bool]) -> Sequence[ApiToken]:
    return db.session.scalars(sa.select(ApiToken).where(where).order_by(ApiToken.id.desc())).all()
