"""Jobs that revoke tokens at their hosts, and delete old rows and repositories without an organization."""

from datetime import timedelta

import sqlalchemy as sa
import structlog

from app.core.jobs import job
from app.database import transactions
from app.drivers.errors import ReconnectRequired, UpstreamRejected, UpstreamUnavailable
from app.drivers.git.hosts import GitHosts
from app.extensions import db, keyring
from app.models.base import utcnow_ms
from app.models.git_credential import GitDelivery, GitRevocation
from app.models.project import LocalRepository, Provider
from app.resources.git_provider import token_encryption
from app.security.secrets import TamperedSecret, associated_data

log = structlog.get_logger(__name__)

RETENTION = timedelta(days=7)
CLEANUP_INTERVAL = timedelta(hours=1)


@job("git_provider.revoke", uses=("git",))
def revoke(*, revocation_id: str, git: GitHosts) -> None:
    """Revoke a token at its host and delete its row. A token that is already revoked is ignored."""
    row = db.session.get(GitRevocation, revocation_id)
    if row is None:
        return
    try:
        token = keyring.decrypt(row.token_secret, aad=associated_data(token_encryption.REVOCATIONS, row.id, "token"))
        provider, kind = row.provider, row.kind
        with transactions.outside_transaction():
            _end(provider, kind, token, git)
    except (TamperedSecret, ReconnectRequired, UpstreamRejected) as fault:
        log.info("git_credential.not_revoked", revocation_id=revocation_id, error=type(fault).__name__)
    with transactions.write_transaction():
        db.session.execute(sa.delete(GitRevocation).where(GitRevocation.id == revocation_id))


@job("git_provider.remove_unclaimed", every=CLEANUP_INTERVAL, retries=0, uses=("git",), priority=-5)
def remove_unclaimed(*, git: GitHosts) -> None:
    """Remove the local repositories of failed requests: they were created, but no row names their organization."""
    if git.local is not None:
        for name in git.local.remove_unclaimed(is_owned=_is_owned):
            log.info("git.unclaimed_removed", repository=name)


def _is_owned(name: str) -> bool:
    is_owned = db.session.get(LocalRepository, name) is not None
    transactions.release_connection()
    return is_owned


@job("git_provider.forget", every=CLEANUP_INTERVAL, retries=0, transaction=True)
def delete_old_rows() -> None:
    """Delete deliveries and unrevoked tokens after a week."""
    before = utcnow_ms() - RETENTION
    db.session.execute(sa.delete(GitRevocation).where(GitRevocation.created_at < before))
    db.session.execute(sa.delete(GitDelivery).where(GitDelivery.received_at < before))


def _end(provider: Provider, kind: str, token: str, hosts: GitHosts) -> None:
    """Revoke a token. The app cannot revoke tokens of other apps, and at some hosts no refresh tokens."""
    try:
        if kind == token_encryption.INSTALLATION:
            hosts.installations(provider)[1].revoke_installation_token(token)
        elif kind == token_encryption.ACCESS or hosts.capabilities(provider).revokes_refresh_tokens:
            hosts.app(provider).revoke(token)
    except UpstreamUnavailable as absent:
        if absent.code != "PROVIDER_NOT_CONFIGURED":
            raise
