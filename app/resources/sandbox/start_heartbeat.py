"""Heartbeat of a sandbox start. The starting process writes it every 5 s until the host returns an id.

If the process dies, the next process that reads the row either takes over the sandbox of the host or marks it as
failed.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import sqlalchemy as sa
import structlog

from app.core.errors import ServiceUnavailable
from app.database import transactions
from app.drivers.sandbox.port import Phase, SandboxHost
from app.extensions import db, start_background
from app.models.sandbox import Sandbox
from app.resources.sandbox import lease, service

log = structlog.get_logger(__name__)

HEARTBEAT_INTERVAL_S = 5.0
HEARTBEAT_TIMEOUT = timedelta(seconds=20)
"""A process without a heartbeat for this time has died. With the interval of the job this is far below one minute."""

MAX_START_TIME = timedelta(minutes=3)
"""No host needs longer to receive a site."""

START_ABANDONED_MESSAGE = "The process that was starting the preview has ended; start it again"


@contextmanager
def start_heartbeat(sandbox_id: str, start_id: str, interval_s: float = HEARTBEAT_INTERVAL_S) -> Iterator[None]:
    """Write the heartbeat in the background while the block runs."""
    done = threading.Event()
    start_background("sandbox-heartbeat", lambda: _write(sandbox_id, start_id, interval_s, done))
    try:
        yield
    finally:
        done.set()


def recover_start(sandbox: Sandbox, host: SandboxHost) -> None:
    """Check a row without a host id: take over a sandbox of the host by its name, or mark the row as failed.

    Does nothing while the heartbeat is recent. Writes in a separate transaction.
    """
    now, started_at = lease.now(), sandbox.created_at if sandbox.start_id == sandbox.label else None
    heartbeat_at = sandbox.start_heartbeat_at or sandbox.created_at
    is_recent = started_at is None or now - started_at < MAX_START_TIME
    if now - heartbeat_at < HEARTBEAT_TIMEOUT and is_recent:
        return
    start_id, name = sandbox.start_id, sandbox.start_id or sandbox.label
    with transactions.outside_transaction():
        matches = (reference for reference, sandbox_name in host.list_sandboxes().items() if sandbox_name == name)
        reference = next(matches, None) if sandbox.node == host.node else None
        runs = reference is not None and host.status(reference).phase is not Phase.ENDED
    log.info("sandbox.start_recovered", sandbox_id=sandbox.id, runs=runs)
    with transactions.write_transaction():
        if runs:
            service.set_host_id(sandbox, reference or "", start_id=start_id)
        else:
            service.mark_failed(
                sandbox, service.StartFailure(START_ABANDONED_MESSAGE, "UNAVAILABLE"), start_id=start_id
            )


def _write(sandbox_id: str, start_id: str, interval_s: float, done: threading.Event) -> None:
    while not done.wait(interval_s):
        try:
            with transactions.write_transaction():
                service.record_start_heartbeat(sandbox_id, start_id)
        except (
            ServiceUnavailable,
            sa.exc.OperationalError,
            sa.exc.TimeoutError,
        ) as error:  # The next one follows soon.
            log.warning("sandbox.heartbeat_write_failed", sandbox_id=sandbox_id, error=type(error).__name__)
        finally:
            db.session.remove()
