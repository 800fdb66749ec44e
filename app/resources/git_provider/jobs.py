"""Ending tokens at their hosts, and forgetting what has had its time."""

from datetime import timedelta

import sqlalchemy as sa
import structlog

from app import transactions
from app.core.jobs import job
from app.core.secrets import TamperedSecret
from app.drivers.errors import Absent, NeedsReconnect, Rejected
from app.drivers.git.hosts import GitHosts
from app.extensions import db, vault
from app.models.base import moment
from app.models.git_credential import GitDelivery, GitRevocation
from app.models.project import Provider
from app.resources.git_provider import sealing

log = structlog.get_logger(__name__)

KEPT = timedelta(days=7)
SWEEP_EVERY = timedelta(hours=1)


@job("git_provider.revoke", uses=("git",))
def revoke(*, revocation_id: str, git: GitHosts) -> None:
    """End one token at its host and forget it; ending what is gone already is no error."""
    transactions.start_reading()
    row = db.session.get(GitRevocation, revocation_id)
    if row is None:
        return
    try:
        token = vault.ring.decrypt(row.token_secret, aad=sealing.place(sealing.REVOCATIONS, row.id, "token"))
        provider, kind = row.provider, row.kind
        transactions.rest()
        _end(provider, kind, token, git)
    except (TamperedSecret, NeedsReconnect, Rejected) as fault:
        log.info("git_credential.not_revoked", revocation_id=revocation_id, error=type(fault).__name__)
    with transactions.writing():
        db.session.execute(sa.delete(GitRevocation).where(GitRevocation.id == revocation_id))


@job("git_provider.forget", every=SWEEP_EVERY, retries=0)
def forget() -> None:
    """Delete deliveries, and tokens whose host could not be reached, after a week."""
    before = moment() - KEPT
    with transactions.writing():
        db.session.execute(sa.delete(GitRevocation).where(GitRevocation.created_at < before))
        db.session.execute(sa.delete(GitDelivery).where(GitDelivery.received_at < before))


def _end(provider: Provider, kind: str, token: str, hosts: GitHosts) -> None:
    """A token that our app did not make, or a GitHub refresh token, cannot be ended by us."""
    try:
        if provider == Provider.GITLAB:
            hosts.gitlab[0].revoke(token)
        elif kind == sealing.INSTALLATION:
            hosts.github[1].revoke_installation_token(token)
        elif kind == sealing.ACCESS:
            hosts.github[0].revoke(token)
    except Absent as absent:
        if absent.code != "PROVIDER_NOT_CONFIGURED":
            raise
