"""Jobs that end sandboxes: expired ones, those without a row, and those of deleted projects."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import sqlalchemy as sa
import structlog

from app.core.jobs import job
from app.core.limits import SandboxLimits
from app.database import transactions
from app.database.errors import VANISHED_ROW_ERRORS
from app.drivers.errors import DriverError
from app.drivers.sandbox.port import SandboxHost
from app.extensions import current_settings, db
from app.models.sandbox import ACTIVE_STATES, MarkRange, Sandbox
from app.models.site_build import SANDBOX_PREFIX
from app.resources.sandbox import host_sync, service
from app.resources.source_marks.queries import RETENTION
from app.resources.system.retention import purge

log = structlog.get_logger(__name__)

MAX_ROW_AGE = timedelta(days=7)


@job("sandbox.end", uses=("sandbox",), priority=5)
def end(*, reference: str, sandbox: SandboxHost) -> None:
    """Stop a sandbox of the host. A sandbox that does not exist is not an error."""
    sandbox.stop(reference)


@job("sandbox.reap", every=timedelta(seconds=SandboxLimits.cleanup_interval_s), retries=0, uses=("sandbox",))
def reconcile_sandboxes(*, sandbox: SandboxHost) -> None:
    """Stop expired sandboxes and sandboxes without a row, and end rows of sandboxes that no longer exist. Idempotent.

    The first run after a start also removes sandboxes that an earlier process left.
    """
    for row in db.session.scalars(sa.select(Sandbox).where(Sandbox.state.in_(ACTIVE_STATES))).all():
        with _isolated(row.id):
            _reconcile_row(row, sandbox)
    _stop_unreferenced(sandbox)
    ended = sa.select(Sandbox.id).where(Sandbox.editable, Sandbox.ended_at < service.database_now() - RETENTION)
    purge(MarkRange, MarkRange.sandbox_id.in_(ended))
    purge(
        Sandbox, sa.and_(Sandbox.state.not_in(ACTIVE_STATES), Sandbox.ended_at < service.database_now() - MAX_ROW_AGE)
    )


def _reconcile_row(row: Sandbox, host: SandboxHost) -> None:
    now, limits = service.database_now(), current_settings().limits.sandbox
    if service.is_overlong(row.expires_at, now, limits):
        with transactions.write_transaction():
            row.expires_at = service.at_create(now, limits)
    if row.expires_at <= now:
        with transactions.write_transaction():
            service.end(row)
        if row.host_id is not None and row.node == host.node:
            with transactions.outside_transaction():
                host.stop(row.host_id)
    elif row.host_id is None or row.node == host.node:
        host_sync.sync_with_host(row, host)


def _stop_unreferenced(host: SandboxHost) -> None:
    """Stop sandboxes of this node that no active row names: the row has ended or was deleted with its project.

    The sandboxes of builds have their own job.
    """
    with transactions.outside_transaction():
        sandboxes = host.list_sandboxes()
    live = sa.select(Sandbox.host_id, Sandbox.label, Sandbox.start_id).where(Sandbox.state.in_(ACTIVE_STATES))
    active_names = {name for row in db.session.execute(live) for name in row}
    for reference, name in sandboxes.items():
        if not name.startswith(SANDBOX_PREFIX) and not active_names & {reference, name}:
            log.info("sandbox.unreferenced_stopped", reference=reference)
            with _isolated(reference), transactions.outside_transaction():
                host.stop(reference)


@contextmanager
def _isolated(name: str) -> Iterator[None]:
    """Log the failure of one sandbox, so that the others are still processed. The next run tries again."""
    try:
        yield
    except Exception as error:
        # The site controls the files of its sandbox, so a defect in their removal can raise any type (RecursionError
        # for deep folders). One such site must not let all others run and fill the disk.
        transactions.rollback()
        if isinstance(error, DriverError):
            log.warning("sandbox.cleanup_failed", sandbox=name, error=str(error))
        elif not isinstance(error, VANISHED_ROW_ERRORS):
            log.exception("sandbox.cleanup_failed", sandbox=name)
        # Else the project was deleted. `_stop_unreferenced` stops the sandbox.
