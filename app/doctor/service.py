"""Checks of the service's own state: its worker and queue, its key ring, its mail."""

from collections.abc import Iterator

import sqlalchemy as sa

from app.core.secrets import Keyring, TamperedSecret
from app.doctor.findings import Finding, Patient, failure, ok, warning
from app.drivers.errors import DriverError
from app.models.git_credential import GitCredential
from app.resources.git_provider import sealing

WORKER_LATE_S = 60.0
LAG_WARNED_S, LAG_FAILED_S = 60.0, 600.0
NEWEST = 20


def worker(patient: Patient) -> Iterator[Finding]:
    """Whether a worker lives and keeps up."""
    with patient.engine.connect() as connection:
        counts = patient.jobs.counts(connection)
    if counts.worker_seen_s is None or counts.worker_seen_s > WORKER_LATE_S:
        ago = "never" if counts.worker_seen_s is None else f"{counts.worker_seen_s:.0f} s ago"
        yield failure(f"No worker is running (last seen: {ago})", "Start flask worker and keep it running.")
    else:
        yield ok(f"A worker gave a sign of life {counts.worker_seen_s:.0f} s ago")
    seen = f"{counts.waiting} jobs wait, the oldest that is due for {counts.lag_s:.0f} s"
    if counts.lag_s > LAG_WARNED_S:
        judge = failure if counts.lag_s > LAG_FAILED_S else warning
        yield judge(seen, "Start more workers, or look at what the running jobs wait for.")
    else:
        yield ok(seen)
    if counts.dead:
        yield warning(
            f"{counts.dead} jobs have failed for good",
            "Run flask jobs dead, and look for job_failed in the worker's log.",
        )


def keys(patient: Patient) -> Iterator[Finding]:
    """Whether the newest sealed secrets can be opened, and with which key."""
    ring, columns = (
        Keyring(patient.settings.security.encryption_keys),
        [sealing.column(name) for name in sealing.FIELDS],
    )
    wanted = sa.select(GitCredential.id, *(getattr(GitCredential, name) for name in columns))
    with patient.engine.connect() as connection:
        rows = connection.execute(wanted.order_by(GitCredential.updated_at.desc()).limit(NEWEST)).all()
    unreadable, older = set(), 0
    for row_id, *stored in rows:
        for field, sealed in zip(sealing.FIELDS, stored, strict=True):
            if sealed is None:
                continue
            older += ring.needs_rotation(sealed)
            try:
                ring.decrypt(sealed, aad=sealing.place(sealing.CREDENTIALS, row_id, field))
            except TamperedSecret:
                unreadable.add(row_id)
    if unreadable:
        seen = f"{len(unreadable)} of the newest {len(rows)} credentials cannot be opened"
        yield failure(seen, "Add the key that sealed them to ENCRYPTION_KEYS.")
    else:
        yield ok(f"The newest {len(rows)} credentials can be opened" if rows else "Nothing is sealed yet")
    if older and not unreadable:
        yield warning(f"{older} of their secrets are sealed with an older key", "Run flask keys rotate.")


def mail(patient: Patient) -> Iterator[Finding]:
    """Whether mail could be handed over."""
    name = patient.settings.mail.driver
    try:
        patient.drivers["mail"].check()
    except DriverError as error:
        yield failure(str(error), "Look at MAIL_DRIVER's settings and the relay.")
        return
    if name == "smtp":
        yield ok("The mail relay takes our sign-in")
    elif name == "console":
        yield warning("Mail is only printed", "Set MAIL_DRIVER=smtp and SMTP_URL.")
    else:
        yield ok("The mail folder can be written; something else must send from it")
