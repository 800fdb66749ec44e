"""Synchronization of sandbox rows with their hosts: heartbeats of starts, waiting and connecting requests, the job."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import NamedTuple

import sqlalchemy as sa
import structlog

from app.core.errors import Conflict, ErrorMessage, ServiceUnavailable, UnprocessableEntity
from app.database import transactions
from app.drivers.sandbox.port import Phase, SandboxHost, SandboxStatus
from app.extensions import db, start_background
from app.models.sandbox import ACTIVE_STATES, PreviewState, Sandbox
from app.resources.sandbox import service
from app.runtimes.failure import hint_for, last_line

log = structlog.get_logger(__name__)

HEARTBEAT_INTERVAL_S = 5.0
HEARTBEAT_TIMEOUT = timedelta(seconds=20)
"""A process without a heartbeat for this time has died. With the interval of the job this is far below one minute."""

MAX_START_TIME = timedelta(minutes=3)
"""No host needs longer to receive a site."""

START_ABANDONED_MESSAGE = "The process that was starting the preview has ended; start it again"
POLL_INTERVAL_S = 0.1
DETAIL_INTERVAL_S = 1.0
CHECKING, CLONING = "Checking session", "Cloning repository"
STEPS = {
    Phase.INSTALLING: "Installing dependencies",
    Phase.STARTING: "Starting server",
    Phase.WAITING: "Waiting for server",
}
IN_ORDER = (CHECKING, CLONING, *STEPS.values())


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
    now, started_at = service.database_now(), sandbox.created_at if sandbox.start_id == sandbox.label else None
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
        except (sa.exc.OperationalError, sa.exc.TimeoutError) as error:  # The next one follows soon.
            log.warning("sandbox.heartbeat_write_failed", sandbox_id=sandbox_id, error=type(error).__name__)
        finally:
            db.session.remove()


def step_of(phase: Phase | None) -> str:
    """Return the step of a start that has not ended. A host without the sandbox does not report a phase."""
    return STEPS.get(phase, CLONING) if phase else CLONING


class SandboxFailed(UnprocessableEntity):
    """The site could not be started (422). The result contains the step, a hint and the end of the log."""

    code, message = "SANDBOX_FAILED", ErrorMessage("The preview could not be started")


class SandboxStopped(Conflict):
    """The sandbox was stopped before it was ready (409)."""

    code, message = "SANDBOX_STOPPED", "The preview was stopped"


class StartProgress(NamedTuple):
    """A step of a start, and the last line of its log, empty before the first line."""

    step: str
    detail: str = ""


def wait_until_running(sandbox_id: str, host: SandboxHost, log_url: Callable[[str], str]) -> Iterator[StartProgress]:
    """Yield each step when it begins, and the current one again when its log has another last line.

    Return when the sandbox is running. `log_url` maps a label to the log page.

    Raises:
        SandboxFailed, SandboxStopped, ServiceUnavailable: the sandbox ended before.
    """
    last, shown = -1, Shown()
    while True:
        sandbox = db.session.get(Sandbox, sandbox_id, populate_existing=True)
        if sandbox is None:
            raise SandboxStopped
        with transactions.outside_transaction():
            status = sync_with_host(sandbox, host)
        _check(sandbox, log_url)
        running = sandbox.state is PreviewState.RUNNING
        reached = len(IN_ORDER) - 1 if running else IN_ORDER.index(step_of(status.phase if status else None))
        yield from map(StartProgress, IN_ORDER[last + 1 : reached + 1])
        last = max(last, reached)
        if running:
            return
        if status is not None and (detail := shown.next_line(status.log)) is not None:
            yield StartProgress(IN_ORDER[last], detail)
        time.sleep(POLL_INTERVAL_S)


class Shown:
    """Last line of a log that was shown. Lines follow after a pause, because installations write many."""

    def __init__(self, interval_s: float = DETAIL_INTERVAL_S) -> None:
        self._interval_s, self._line, self._at = interval_s, "", float("-inf")

    def next_line(self, log: str) -> str | None:
        """Return the last line of a log, or None if it was shown or the pause is not over."""
        line = last_line(log)
        if line in ("", self._line) or time.monotonic() - self._at < self._interval_s:
            return None
        self._line, self._at = line, time.monotonic()
        return line


def sync_with_host(sandbox: Sandbox, host: SandboxHost) -> SandboxStatus | None:
    """Update an active row to the state of its host. Return this state, or None before the host has the sandbox.

    Writes in a separate transaction.
    """
    if sandbox.state not in ACTIVE_STATES:
        return None
    host_id, start_id = sandbox.host_id, sandbox.start_id
    if host_id is None:
        recover_start(sandbox, host)
        return None
    with transactions.outside_transaction():
        status = host.status(host_id)
        if _agrees(sandbox, status):
            return status
        failure = _failure(status, host.read_log(host_id)) if status.phase is Phase.FAILED else None
    with transactions.write_transaction():
        if status.phase is Phase.READY:
            service.mark_running(sandbox)
        elif failure is not None:
            service.mark_failed(sandbox, failure, start_id=start_id)
        else:
            service.end_start(sandbox, start_id=start_id)
    if status.phase in (Phase.FAILED, Phase.ENDED):
        host.stop(host_id)
    return status


def _failure(status: SandboxStatus, log: str) -> service.StartFailure:
    is_serving = status.step is not Phase.INSTALLING
    return service.StartFailure(
        status.problem or SandboxFailed.message,
        step=STEPS.get(status.step or Phase.WAITING, STEPS[Phase.WAITING]),
        hint=hint_for(
            status.cause,
            log or status.log,
            status.refused_hosts,
            is_serving=is_serving,
            unreachable_hosts=status.unreachable_hosts,
        ),
        log=log or status.log,
    )


def _agrees(sandbox: Sandbox, status: SandboxStatus) -> bool:
    if status.phase in (Phase.FAILED, Phase.ENDED):
        return False
    return (status.phase is Phase.READY) == (sandbox.state is PreviewState.RUNNING)


def _check(sandbox: Sandbox, log_url: Callable[[str], str]) -> None:
    if sandbox.state is PreviewState.STOPPED:
        raise SandboxStopped
    if sandbox.state is PreviewState.FAILED:
        if sandbox.code in ("SANDBOX_UNAVAILABLE", "UNAVAILABLE"):
            raise ServiceUnavailable(sandbox.problem, code=sandbox.code, retry_after_s=60)
        if sandbox.code in ("NEEDS_RECONNECT", "DISCONNECTED"):
            raise Conflict(sandbox.problem, code=sandbox.code)
        failure = service.failure_of(sandbox) or {}
        raise SandboxFailed(sandbox.problem, code=sandbox.code, result=failure | {"log_url": log_url(sandbox.label)})
