"""Whether somebody is still starting a claimed sandbox: they say so every few seconds, until a host has it.

A process that was killed says nothing more; whoever looks next ends the row, or takes over what the host has already.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import sqlalchemy as sa
import structlog
from flask import Flask

from app import transactions
from app.core.errors import Unavailable
from app.drivers.sandbox.port import Phase, SandboxHost
from app.extensions import db
from app.models.sandbox import Sandbox
from app.resources.sandbox import lease, service

log = structlog.get_logger(__name__)

SAID_EVERY_S = 5.0
SILENT = timedelta(seconds=20)
"""Whoever says nothing for so long has died; with the reaper's rhythm that leaves much of the minute that is promised."""

STARTED_WITHIN = timedelta(minutes=3)
"""No host takes longer to be given a site; whoever is still at it then never ends."""

LOST = "The process that was starting the preview has ended; start it again"


@contextmanager
def tending(app: Flask, sandbox_id: str) -> Iterator[None]:
    """Say beside the code inside that somebody is at it."""
    done = threading.Event()
    threading.Thread(target=_say, args=(app, sandbox_id, done), name="sandbox-tending", daemon=True).start()
    try:
        yield
    finally:
        done.set()


def take_over(sandbox: Sandbox, host: SandboxHost) -> None:
    """Of a row that no host has: nothing while it is tended; else hand over what the host runs by its name, or end it.

    Must be called while only reading; writes in a short transaction of its own.
    """
    now = lease.now()
    if now - (sandbox.tended_at or sandbox.created_at) < SILENT and now - sandbox.created_at < STARTED_WITHIN:
        return
    transactions.rest()
    named = (reference for reference, name in host.names().items() if name == sandbox.label)
    reference = next(named, None) if sandbox.node == host.node else None
    runs = reference is not None and host.look(reference).phase is not Phase.GONE
    log.info("sandbox.taken_over", sandbox_id=sandbox.id, runs=runs)
    with transactions.writing():
        if runs:
            service.handed_over(sandbox, reference or "")
        else:
            service.failed(sandbox, LOST, code="UNAVAILABLE")


def _say(app: Flask, sandbox_id: str, done: threading.Event) -> None:
    while not done.wait(SAID_EVERY_S):
        with app.app_context():
            try:
                with transactions.writing():
                    service.tended(sandbox_id)
            except (Unavailable, sa.exc.OperationalError, sa.exc.TimeoutError) as error:  # said again soon
                log.warning("sandbox.not_tended", sandbox_id=sandbox_id, error=type(error).__name__)
            finally:
                db.session.remove()
