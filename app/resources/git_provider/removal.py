"""FileRemoval of credentials. The row is deleted at once, and jobs revoke its tokens at the host."""

import sqlalchemy as sa

from app.core.errors import NotFound
from app.drivers.errors import ReconnectRequired
from app.extensions import db, jobs
from app.models.git_credential import GitCredential, GitRevocation
from app.models.project import ConnectionStatus, Project
from app.models.user import User
from app.resources.git_provider import token_encryption
from app.security.secrets import Keyring


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


def disconnect_own(user: User, credential_id: str, *, ring: Keyring) -> str:
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
        row.token_secret = ring.encrypt(
            token, aad=token_encryption.associated_data(token_encryption.REVOCATIONS, row.id, "token")
        )
        db.session.flush()
        jobs.enqueue("git_provider.revoke", revocation_id=row.id)
