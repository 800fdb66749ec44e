"""Taking a credential away: the row goes at once, its tokens are ended at the host by jobs that never carry them."""

import sqlalchemy as sa

from app.core.errors import NotFound
from app.core.secrets import Keyring
from app.drivers.errors import NeedsReconnect
from app.extensions import db, jobs
from app.models.git_credential import GitCredential, GitRevocation
from app.models.project import ConnectionStatus, Project
from app.models.user import User
from app.resources.git_provider import sealing


def disconnect(credential: GitCredential, *, ring: Keyring) -> str:
    """Take a credential away; what hangs on it needs to be connected anew. Returns its id."""
    _hand_over(credential, ring)
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
    """Take one of the user's own credentials away. Raises NotFound."""
    found = db.session.scalar(
        sa.select(GitCredential)
        .where(GitCredential.id == credential_id, GitCredential.user_id == user.id)
        .with_for_update()
    )
    if found is None:
        raise NotFound("No such connection of yours")
    return disconnect(found, ring=ring)


def disconnect_all(user: User, *, ring: Keyring) -> None:
    """Take away everything the user has connected."""
    for found in db.session.scalars(sa.select(GitCredential).where(GitCredential.user_id == user.id)).all():
        disconnect(found, ring=ring)


def _hand_over(credential: GitCredential, ring: Keyring) -> None:
    """Keep each token, sealed for its new place, until it is ended; one that cannot be read is left to its end."""
    for kind in sealing.FIELDS:
        try:
            token = sealing.unseal(ring, credential.id, kind, getattr(credential, sealing.column(kind)))
        except NeedsReconnect:
            continue
        if token is None:
            continue
        row = GitRevocation(provider=credential.provider, kind=kind, token_secret="")
        db.session.add(row)
        db.session.flush()
        row.token_secret = ring.encrypt(token, aad=sealing.place(sealing.REVOCATIONS, row.id, "token"))
        db.session.flush()
        jobs.enqueue("git_provider.revoke", revocation_id=row.id)
