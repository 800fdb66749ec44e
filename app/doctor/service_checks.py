"""Checks of the service: worker and queue, encryption keys, passkeys, mail."""

from collections.abc import Iterator

import sqlalchemy as sa

from app.doctor.findings import Deployment, Finding, failure, ok, warning
from app.drivers.errors import DriverError
from app.models.git_credential import GitCredential
from app.resources.auth.passkeys.service import count_unusable
from app.resources.auth.passkeys.verification import fault_of
from app.resources.git_provider import token_encryption
from app.security.secrets import Keyring, TamperedSecret, associated_data

WORKER_LATE_S = 60.0
LAG_WARNED_S, LAG_FAILED_S = 60.0, 600.0
NEWEST = 20


def worker(deployment: Deployment) -> Iterator[Finding]:
    """Check that a worker runs and that the queue is short."""
    with deployment.engine.connect() as connection:
        counts = deployment.jobs.counts(connection)
    if counts.heartbeat_age_s is None or counts.heartbeat_age_s > WORKER_LATE_S:
        ago = "never" if counts.heartbeat_age_s is None else f"{counts.heartbeat_age_s:.0f} s ago"
        yield failure(f"No worker is running (last observed: {ago})", "Start flask worker and keep it running.")
    else:
        yield ok(f"A worker sent a heartbeat {counts.heartbeat_age_s:.0f} s ago")
    observed = f"Waiting jobs: {counts.waiting}. The oldest is late by {counts.lag_s:.0f} s"
    if counts.lag_s > LAG_WARNED_S:
        judge = failure if counts.lag_s > LAG_FAILED_S else warning
        yield judge(observed, "Start more workers, or find out what the running jobs wait for.")
    else:
        yield ok(observed)
    if counts.failed:
        yield warning(
            f"The last run of {counts.failed} periodic jobs failed",
            "Search the log of the worker for job.failed. The jobs run again in their next period.",
        )
    if counts.dead:
        yield warning(
            f"{counts.dead} jobs have failed permanently",
            "Run flask jobs dead, and search the log of the worker for job.failed.",
        )


def keys(deployment: Deployment) -> Iterator[Finding]:
    """Check that the newest encrypted secrets can be decrypted, and report those with an older key."""
    ring = Keyring(deployment.settings.security.encryption_keys)
    columns = [token_encryption.column(name) for name in token_encryption.FIELDS]
    statement = sa.select(GitCredential.id, *(getattr(GitCredential, name) for name in columns))
    with deployment.engine.connect() as connection:
        rows = connection.execute(statement.order_by(GitCredential.updated_at.desc()).limit(NEWEST)).all()
    unreadable, older = set(), 0
    for row_id, *stored in rows:
        for field, value in zip(token_encryption.FIELDS, stored, strict=True):
            if value is None:
                continue
            older += ring.needs_rotation(value)
            try:
                ring.decrypt(value, aad=associated_data(token_encryption.CREDENTIALS, row_id, field))
            except TamperedSecret:
                unreadable.add(row_id)
    if unreadable:
        observed = f"{len(unreadable)} of the newest {len(rows)} credentials cannot be decrypted"
        yield failure(observed, "Add the key that encrypted them to ENCRYPTION_KEYS.")
    else:
        yield ok(f"The newest {len(rows)} credentials can be decrypted" if rows else "No credential is stored")
    if older and not unreadable:
        yield warning(f"{older} of their secrets are encrypted with an older key", "Run flask keys rotate.")


def passkeys(deployment: Deployment) -> Iterator[Finding]:
    """Check that browsers accept the domain of the passkeys, and that the stored ones belong to it."""
    server = deployment.settings.server
    fault = fault_of(server)
    if fault is not None:
        judge = failure if server.base_url.startswith("https:") else warning
        advice = "Set BASE_URL to an https URL with a domain, and PASSKEY_RP_ID to its host or a domain above it."
        yield judge(f"No passkeys with {server.base_url} and PASSKEY_RP_ID {server.passkey_rp_id}: {fault}", advice)
    else:
        yield ok(f"Passkeys belong to {server.passkey_rp_id}")
    with deployment.engine.connect() as connection:
        unusable = count_unusable(connection, server.passkey_rp_id)
    if unusable:
        advice = "Restore the domain in PASSKEY_RP_ID, or ask their owners to register new ones."
        yield warning(f"{unusable} passkeys belong to another domain and cannot be used", advice)


def mail(deployment: Deployment) -> Iterator[Finding]:
    """Check that the mail transport accepts mail."""
    name = deployment.settings.mail.driver
    try:
        deployment.drivers.mail.check()
    except DriverError as error:
        yield failure(str(error), "Check the MAIL_* settings and the mail server.")
        return
    if name == "smtp":
        yield ok("The mail server accepts the sign-in")
    elif name == "console":
        yield warning("Mail is only printed", "Set MAIL_DRIVER=smtp and SMTP_URL.")
    else:
        yield ok("The mail folder is writable. Another program must send the files")
