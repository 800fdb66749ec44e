"""The jobs that end sandboxes: those that are over, those that nobody knows any more, and those that were told to."""

from datetime import timedelta

import sqlalchemy as sa
import structlog

from app import transactions
from app.core.jobs import job
from app.core.limits import SandboxLimits
from app.drivers.errors import DriverError
from app.drivers.sandbox.port import SandboxHost
from app.extensions import db
from app.http.configuration import settings
from app.models.sandbox import LIVE, Sandbox
from app.resources.sandbox import lease, service, watching

log = structlog.get_logger(__name__)

KEPT = timedelta(days=7)


@job("sandbox.end", uses=("sandbox",), priority=5)
def end(*, reference: str, sandbox: SandboxHost) -> None:
    """Stop what a host runs by that name; what is gone already is no error."""
    sandbox.stop(reference)


@job("sandbox.reap", every=timedelta(seconds=SandboxLimits.reap_s), retries=0, uses=("sandbox",))
def reap(*, sandbox: SandboxHost) -> None:
    """Bring rows and what this node runs to agree: neither expired nor lost ones stay, on either side.

    The first run after a start finds what an earlier life of this machine left.
    """
    transactions.start_reading()
    for found in db.session.scalars(sa.select(Sandbox).where(Sandbox.state.in_(LIVE))).all():
        try:
            _look_after(found, sandbox)
        except DriverError as error:
            log.warning("sandbox.unreachable", sandbox_id=found.id, error=str(error))
    _sweep(sandbox)
    with transactions.writing():
        db.session.execute(
            sa.delete(Sandbox).where(Sandbox.state.not_in(LIVE), Sandbox.ended_at < lease.now() - KEPT),
            execution_options={"synchronize_session": False},
        )


def _look_after(found: Sandbox, host: SandboxHost) -> None:
    transactions.start_reading()
    now, limits = lease.now(), settings().limits.sandbox
    if lease.is_overlong(found.expires_at, now, limits):
        with transactions.writing():
            found.expires_at = lease.at_create(now, limits)
    if found.expires_at <= now:
        with transactions.writing():
            service.end(found)
        if found.reference is not None and found.node == host.node:
            transactions.rest()
            host.stop(found.reference)
    elif found.reference is None or found.node == host.node:
        watching.advance(found, host)


def _sweep(host: SandboxHost) -> None:
    """Stop what this node runs and no live row names: its row is ended, or went with its project."""
    held = host.names()
    transactions.start_reading()
    live = sa.select(Sandbox.reference, Sandbox.label).where(Sandbox.state.in_(LIVE))
    known = {name for row in db.session.execute(live) for name in row}
    transactions.rest()
    for reference, name in held.items():
        if not known & {reference, name}:
            log.info("sandbox.swept", reference=reference)
            host.stop(reference)
