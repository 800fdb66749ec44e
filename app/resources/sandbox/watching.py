"""Follows a sandbox from its claim until it answers, by its row and what its host says; and keeps the row at that.

Whoever looks moves the row on: the one who asked, whoever connects meanwhile, the reaper.
"""

import time
from collections.abc import Iterator

from app import transactions
from app.core.errors import Conflict, Refused, Unavailable
from app.drivers.sandbox.port import Phase, SandboxHost, View
from app.extensions import db
from app.models.project_preview import PreviewState
from app.models.sandbox import LIVE, Sandbox
from app.resources.sandbox import service, tending

LOOK_EVERY_S = 0.1
CHECKING, CLONING = "Checking session", "Cloning repository"
STEPS = {
    Phase.INSTALLING: "Installing dependencies",
    Phase.STARTING: "Starting server",
    Phase.WAITING: "Waiting for server",
}
IN_ORDER = (CHECKING, CLONING, *STEPS.values())


class SandboxFailed(Refused):
    """The site came to nothing in its sandbox (422); the message says why, its log is on the preview's page."""

    code, message = "SANDBOX_FAILED", "The preview could not be started"


class SandboxStopped(Conflict):
    """Somebody stopped it before it was ready (409)."""

    code, message = "SANDBOX_STOPPED", "The preview was stopped"


def follow(sandbox_id: str, host: SandboxHost) -> Iterator[str]:
    """Yield each step as it begins, in order and once; return when the sandbox is running.

    Raises:
        SandboxFailed, SandboxStopped, Unavailable: it never will be.
    """
    said = -1
    while True:
        transactions.start_reading()
        sandbox = db.session.get(Sandbox, sandbox_id, populate_existing=True)
        if sandbox is None:
            raise SandboxStopped
        phase = advance(sandbox, host)
        transactions.rest()
        _check(sandbox)
        running = sandbox.state is PreviewState.RUNNING
        reached = len(IN_ORDER) - 1 if running else IN_ORDER.index(STEPS.get(phase, CLONING) if phase else CLONING)
        yield from IN_ORDER[said + 1 : reached + 1]
        said = max(said, reached)
        if running:
            return
        time.sleep(LOOK_EVERY_S)


def advance(sandbox: Sandbox, host: SandboxHost) -> Phase | None:
    """Bring a live row to what its host says; the host's phase, or None before the host has it.

    Must be called while only reading; writes in a short transaction of its own.
    """
    if sandbox.state not in LIVE:
        return None
    if sandbox.reference is None:
        tending.take_over(sandbox, host)
        return None
    transactions.rest()
    view = host.look(sandbox.reference)
    if _agrees(sandbox, view):
        return view.phase
    with transactions.writing():
        if view.phase is Phase.READY:
            service.running(sandbox)
        elif view.phase is Phase.FAILED:
            service.failed(sandbox, view.problem or SandboxFailed.message, view=view)
        else:
            service.end(sandbox)
    if view.phase in (Phase.FAILED, Phase.GONE):
        transactions.rest()
        host.stop(sandbox.reference)
    return view.phase


def _agrees(sandbox: Sandbox, view: View) -> bool:
    if view.phase in (Phase.FAILED, Phase.GONE):
        return False
    return (view.phase is Phase.READY) == (sandbox.state is PreviewState.RUNNING)


def _check(sandbox: Sandbox) -> None:
    if sandbox.state is PreviewState.STOPPED:
        raise SandboxStopped
    if sandbox.state is PreviewState.FAILED:
        if sandbox.code in ("SANDBOX_UNAVAILABLE", "UNAVAILABLE"):
            raise Unavailable(sandbox.problem, code=sandbox.code, retry_after_s=60)
        if sandbox.code in ("NEEDS_RECONNECT", "DISCONNECTED"):
            raise Conflict(sandbox.problem, code=sandbox.code)
        raise SandboxFailed(sandbox.problem, code=sandbox.code)
