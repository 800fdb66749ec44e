"""Stored credentials of users: creation, replacement, rotation and removal. Tokens are written encrypted."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import sqlalchemy as sa

from app.core.errors import Conflict, NotFound
from app.core.ids import HasId
from app.drivers.errors import ReconnectRequired
from app.drivers.git.accounts import GitAccount, InstallationToken, TokenSet
from app.extensions import db, jobs
from app.models.base import utcnow_ms
from app.models.git_credential import CredentialStatus, GitCredential, GitRevocation
from app.models.project import ConnectionStatus, Project, Provider
from app.models.user import User
from app.resources.git_provider import token_encryption
from app.resources.git_provider.connection_recovery import projects_reactivated_by
from app.security.secrets import Keyring, associated_data, hash_token

MAX_PREVIOUS_HASHES = 50
HINT_LENGTH = 4


@dataclass(frozen=True)
class VerifiedTokens:
    """Tokens that the host accepted, with their account and installation."""

    tokens: TokenSet
    account: GitAccount
    installation_id: str | None = None
    installation: InstallationToken | None = field(default=None, repr=False)


@dataclass(frozen=True)
class RotatedTokens:
    """A token pair that a client refreshed."""

    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    access_token_expires_at: datetime | None
    refresh_token_expires_at: datetime | None


def credentials_of(user: HasId) -> Sequence[GitCredential]:
    """Return the credentials of a user, oldest first."""
    return db.session.scalars(
        sa.select(GitCredential).where(GitCredential.user_id == user.id).order_by(GitCredential.id)
    ).all()


def own(user: HasId, provider: Provider) -> GitCredential:
    """Return the credential of a user at a provider.

    Raises:
        NotFound: the user has no credential there.
    """
    row = _find(user, provider)
    if row is None:
        raise NotFound("No account of this provider is connected")
    return row


def store(user: User, provider: Provider, grant: VerifiedTokens, *, ring: Keyring) -> tuple[GitCredential, bool]:
    """Store tokens as the credential of a user. Return whether it is the first one at the provider."""
    row, is_new = _find(user, provider, lock=True), False
    if row is None:
        row, is_new = _create(user, provider)
    tokens = grant.tokens
    row.account_id, row.account_login, row.account_name = grant.account.id, grant.account.login, grant.account.name
    row.token_type, row.scopes = tokens.token_type, list(tokens.scopes)
    row.installation_id = grant.installation_id
    write_tokens(row, tokens, ring=ring)
    write_installation(row, grant.installation, ring=ring)
    db.session.flush()
    db.session.execute(projects_reactivated_by(row), execution_options={"synchronize_session": False})
    return row, is_new


def rotate(
    user: User, provider: Provider, old_refresh_token: str, pair: RotatedTokens, *, ring: Keyring
) -> GitCredential:
    """Replace the stored pair by one that the client refreshed.

    Raises:
        NotFound: the old token never belonged to a credential of the user.
        Conflict: the old token was already rotated.
    """
    row, old = _find(user, provider, lock=True), hash_token(old_refresh_token)
    if row is None or (old != row.refresh_hash and old not in row.previous_refresh_hashes):
        raise NotFound("This refresh token does not belong to one of your connected accounts")
    if old != row.refresh_hash:
        raise Conflict("This refresh token was already rotated", code="ALREADY_ROTATED")
    scopes = tuple(row.scopes)
    tokens = TokenSet(
        pair.access_token,
        row.token_type,
        scopes,
        pair.access_token_expires_at,
        pair.refresh_token,
        pair.refresh_token_expires_at,
    )
    write_tokens(row, tokens, ring=ring)
    row.last_refreshed_at = utcnow_ms()
    db.session.flush()
    db.session.execute(projects_reactivated_by(row), execution_options={"synchronize_session": False})
    return row


def write_tokens(row: GitCredential, tokens: TokenSet, *, ring: Keyring) -> None:
    """Write tokens into the row as its next generation."""
    for column, value in token_columns(row, tokens, ring=ring).items():
        setattr(row, column, value)


def token_columns(row: GitCredential, tokens: TokenSet, *, ring: Keyring) -> dict[str, object]:
    """Return the columns of the next generation of a row."""
    renewed = tokens.refresh_token
    access: dict[str, object] = {
        token_encryption.column(token_encryption.ACCESS): token_encryption.encrypt_token(
            ring, row.id, token_encryption.ACCESS, tokens.access_token
        ),
        "access_token_expires_at": tokens.expires_at,
        "token_hint": tokens.access_token[-HINT_LENGTH:],
        "generation": row.generation + 1,
        "refreshing_until": None,
        "status": CredentialStatus.ACTIVE,
    }
    used = [*row.previous_refresh_hashes, row.refresh_hash] if row.refresh_hash else row.previous_refresh_hashes
    return access | {
        token_encryption.column(token_encryption.REFRESH): token_encryption.encrypt_token(
            ring, row.id, token_encryption.REFRESH, renewed
        ),
        "refresh_token_expires_at": tokens.refresh_expires_at,
        "refresh_hash": hash_token(renewed) if renewed else None,
        "previous_refresh_hashes": used[-MAX_PREVIOUS_HASHES:],
    }


def write_installation(row: GitCredential, installation: InstallationToken | None, *, ring: Keyring) -> None:
    """Write or clear the token of an installation."""
    token = installation.token if installation else None
    row.installation_token_secret = token_encryption.encrypt_token(ring, row.id, token_encryption.INSTALLATION, token)
    row.installation_token_expires_at = installation.expires_at if installation else None


def _find(user: HasId, provider: Provider, *, lock: bool = False) -> GitCredential | None:
    statement = sa.select(GitCredential).where(GitCredential.user_id == user.id, GitCredential.provider == provider)
    if lock:
        statement = statement.with_for_update().execution_options(populate_existing=True)
    return db.session.scalar(statement)


def _create(user: User, provider: Provider) -> tuple[GitCredential, bool]:
    """Insert a row, or return the row that another request inserted at the same time."""
    try:
        with db.session.begin_nested():
            row = GitCredential(user_id=user.id, provider=provider, generation=0, previous_refresh_hashes=[])
            db.session.add(row)
    except sa.exc.IntegrityError:
        existing = _find(user, provider, lock=True)
        if existing is None:
            raise
        return existing, False
    return row, True


def disconnect(credential: GitCredential, *, ring: Keyring) -> str:
    """Delete a credential and mark the projects that use it. Return its id."""
    _enqueue_revocations(credential, ring)
    db.session.execute(
        sa.update(Project)
        .where(
            Project.connected_by == credential.user_id,
            Project.provider == credential.provider,
            Project.installation_id.is_(None),
        )
        .values(connection_status=ConnectionStatus.NEEDS_RECONNECT),
        execution_options={"synchronize_session": False},
    )
    db.session.delete(credential)
    db.session.flush()
    return credential.id


def disconnect_own(user: HasId, credential_id: str, *, ring: Keyring) -> str:
    """Delete a credential of the user.

    Raises:
        NotFound: the user has no such credential.
    """
    credential = db.session.scalar(
        sa.select(GitCredential)
        .where(GitCredential.id == credential_id, GitCredential.user_id == user.id)
        .with_for_update()
    )
    if credential is None:
        raise NotFound("This account is not connected")
    return disconnect(credential, ring=ring)


def disconnect_all(user: User, *, ring: Keyring) -> None:
    """Delete all credentials of the user."""
    for credential in db.session.scalars(sa.select(GitCredential).where(GitCredential.user_id == user.id)).all():
        disconnect(credential, ring=ring)


def _enqueue_revocations(credential: GitCredential, ring: Keyring) -> None:
    """Store each token, encrypted for its new row, until a job revokes it. An unreadable token is skipped."""
    for kind in token_encryption.FIELDS:
        try:
            token = token_encryption.decrypt_token(
                ring, credential.id, kind, getattr(credential, token_encryption.column(kind))
            )
        except ReconnectRequired:
            continue
        if token is None:
            continue
        row = GitRevocation(provider=credential.provider, kind=kind, token_secret="")
        db.session.add(row)
        db.session.flush()
        row.token_secret = ring.encrypt(token, aad=associated_data(token_encryption.REVOCATIONS, row.id, "token"))
        db.session.flush()
        jobs.enqueue("git_provider.revoke", revocation_id=row.id)
