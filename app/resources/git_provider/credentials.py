"""What a user has connected: stored, replaced, rotated and taken away; the tokens are only ever written here, sealed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import sqlalchemy as sa

from app.core.errors import Conflict, NotFound
from app.core.permissions import Role
from app.core.secrets import Keyring, hash_token
from app.drivers.git.accounts import Account, InstallationToken, Tokens
from app.extensions import db
from app.models.base import moment
from app.models.git_credential import CredentialStatus, GitCredential
from app.models.organization import Membership
from app.models.project import ConnectionStatus, Project, Provider
from app.models.user import User
from app.resources.git_provider import sealing

HASHES_KEPT = 50
HINT_LENGTH = 4


@dataclass(frozen=True)
class Grant:
    """Tokens that were tried, whose account they are, and the installation they came with."""

    tokens: Tokens
    account: Account
    installation_id: str | None = None
    installation: InstallationToken | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Rotated:
    """A pair that a client has renewed by itself."""

    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    access_token_expires_at: datetime | None
    refresh_token_expires_at: datetime | None


def credentials_of(user: User) -> Sequence[GitCredential]:
    """What the user has connected, oldest first."""
    return db.session.scalars(
        sa.select(GitCredential).where(GitCredential.user_id == user.id).order_by(GitCredential.id)
    ).all()


def own(user: User, provider: Provider) -> GitCredential:
    """The user's credential at a provider. Raises NotFound."""
    found = _find(user, provider)
    if found is None:
        raise NotFound("No account of this provider is connected")
    return found


def store(user: User, provider: Provider, grant: Grant, *, ring: Keyring) -> tuple[GitCredential, bool]:
    """Keep a grant as the user's credential at that provider; True when it is their first there."""
    row, is_new = _find(user, provider, lock=True), False
    if row is None:
        row, is_new = _made(user, provider)
    tokens = grant.tokens
    row.account_id, row.account_login, row.account_name = grant.account.id, grant.account.login, grant.account.name
    row.token_type, row.scopes = tokens.token_type, list(tokens.scopes)
    row.installation_id = grant.installation_id
    write_tokens(row, tokens, ring=ring)
    write_installation(row, grant.installation, ring=ring)
    db.session.flush()
    _revive_projects(row)
    return row, is_new


def rotate(user: User, provider: Provider, old_refresh_token: str, pair: Rotated, *, ring: Keyring) -> GitCredential:
    """Keep a pair that the client renewed, in the place of the one it came from.

    Raises:
        NotFound: the user has no credential that the old token ever belonged to.
        Conflict: another pair has taken the old one's place already.
    """
    row, old = _find(user, provider, lock=True), hash_token(old_refresh_token)
    if row is None or (old != row.refresh_hash and old not in row.previous_refresh_hashes):
        raise NotFound("No credential of yours has had this refresh token")
    if old != row.refresh_hash:
        raise Conflict("This refresh token has been rotated already", code="ALREADY_ROTATED")
    scopes = tuple(row.scopes)
    tokens = Tokens(
        pair.access_token, row.token_type, scopes, pair.access_token_expires_at, pair.refresh_token,
        pair.refresh_token_expires_at,
    )  # fmt: skip
    write_tokens(row, tokens, ring=ring)
    row.last_refreshed_at = moment()
    db.session.flush()
    _revive_projects(row)
    return row


def write_tokens(row: GitCredential, tokens: Tokens, *, ring: Keyring) -> None:
    """Put a user's tokens into the row, as its next generation."""
    for column, value in token_columns(row, tokens, ring=ring).items():
        setattr(row, column, value)


def token_columns(row: GitCredential, tokens: Tokens, *, ring: Keyring) -> dict[str, object]:
    """The columns of the row's next generation."""
    renewed = tokens.refresh_token
    kept: dict[str, object] = {
        sealing.column(sealing.ACCESS): sealing.seal(ring, row.id, sealing.ACCESS, tokens.access_token),
        "access_token_expires_at": tokens.expires_at,
        "token_hint": tokens.access_token[-HINT_LENGTH:],
        "generation": row.generation + 1,
        "refreshing_until": None,
        "status": CredentialStatus.ACTIVE,
    }
    used = [*row.previous_refresh_hashes, row.refresh_hash] if row.refresh_hash else row.previous_refresh_hashes
    return kept | {
        sealing.column(sealing.REFRESH): sealing.seal(ring, row.id, sealing.REFRESH, renewed),
        "refresh_token_expires_at": tokens.refresh_expires_at,
        "refresh_hash": hash_token(renewed) if renewed else None,
        "previous_refresh_hashes": used[-HASHES_KEPT:],
    }


def write_installation(row: GitCredential, installation: InstallationToken | None, *, ring: Keyring) -> None:
    """Put an installation's token into the row, or take it away."""
    token = installation.token if installation else None
    row.installation_token_secret = sealing.seal(ring, row.id, sealing.INSTALLATION, token)
    row.installation_token_expires_at = installation.expires_at if installation else None


def _find(user: User, provider: Provider, *, lock: bool = False) -> GitCredential | None:
    wanted = sa.select(GitCredential).where(GitCredential.user_id == user.id, GitCredential.provider == provider)
    if lock:
        wanted = wanted.with_for_update().execution_options(populate_existing=True)
    return db.session.scalar(wanted)


def _made(user: User, provider: Provider) -> tuple[GitCredential, bool]:
    """A new row, or the one that another request made at the same time."""
    try:
        with db.session.begin_nested():
            row = GitCredential(user_id=user.id, provider=provider, generation=0, previous_refresh_hashes=[])
            db.session.add(row)
    except sa.exc.IntegrityError:
        found = _find(user, provider, lock=True)
        if found is None:
            raise
        return found, False
    return row, True


def _revive_projects(row: GitCredential) -> None:
    """What hangs on this credential works again, where its owner may still connect projects of that organization."""
    manages = sa.select(Membership.organization_id).where(
        Membership.user_id == row.user_id, Membership.role.in_([Role.OWNER, Role.ADMIN])
    )
    db.session.execute(
        sa.update(Project)
        .where(
            Project.connected_by == row.user_id,
            Project.provider == row.provider,
            Project.installation_id.is_(None),
            Project.connection_account == row.account_login,
            Project.organization_id.in_(manages),
        )
        .values(connection_status=ConnectionStatus.ACTIVE),
        execution_options={"synchronize_session": False},
    )
