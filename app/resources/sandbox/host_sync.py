"""Synchronization of sandbox rows with their hosts: the request that waits, connecting requests and the job."""

import time
from collections.abc import Callable, Iterator

from app.core.errors import Conflict, ErrorMessage, ServiceUnavailable, UnprocessableEntity
from app.database import transactions
from app.drivers.sandbox.port import Phase, SandboxHost, SandboxStatus
from app.extensions import db
from app.models.project_preview import PreviewState
from app.models.sandbox import ACTIVE_STATES, Sandbox
from app.resources.sandbox import preview_record, service, start_heartbeat
from app.runtimes.failure import hint_for

POLL_INTERVAL_S = 0.1
CHECKING, CLONING = "Checking session", "Cloning repository"
STEPS = {
    Phase.INSTALLING: "Installing dependencies",
    Phase.STARTING: "Starting server",
    Phase.WAITING: "Waiting for server",
}
IN_ORDER = (CHECKING, CLONING, *STEPS.values())


class SandboxFailed(UnprocessableEntity):
    """The site could not be started (422). The result contains the step, a hint and the end of the log."""

    code, message = "SANDBOX_FAILED", ErrorMessage("The preview could not be started")


class SandboxStopped(Conflict):
    """The sandbox was stopped before it was ready (409)."""

    code, message = "SANDBOX_STOPPED", "The preview was stopped"


def wait_until_running(sandbox_id: str, host: SandboxHost, log_url: Callable[[str], str]) -> Iterator[str]:
    """Yield each step once when it begins. Return when the sandbox is running. `log_url` maps a label to the log page.

    Raises:
        SandboxFailed, SandboxStopped, ServiceUnavailable: the sandbox ended before.
    """
    last = -1
    while True:
        sandbox = db.session.get(Sandbox, sandbox_id, populate_existing=True)
        if sandbox is None:
            raise SandboxStopped
        with transactions.outside_transaction():
            phase = sync_with_host(sandbox, host)
        _check(sandbox, log_url)
        running = sandbox.state is PreviewState.RUNNING
        reached = len(IN_ORDER) - 1 if running else IN_ORDER.index(STEPS.get(phase, CLONING) if phase else CLONING)
        yield from IN_ORDER[last + 1 : reached + 1]
        last = max(last, reached)
        if running:
            return
        time.sleep(POLL_INTERVAL_S)


def sync_with_host(sandbox: Sandbox, host: SandboxHost) -> Phase | None:
    """Update an active row to the state of its host. Return the phase, or None before the host has the sandbox.

    Writes in a separate transaction.
    """
    if sandbox.state not in ACTIVE_STATES:
        return None
    host_id, start_id = sandbox.host_id, sandbox.start_id
    if host_id is None:
        start_heartbeat.recover_start(sandbox, host)
        return None
    with transactions.outside_transaction():
        status = host.status(host_id)
        if _agrees(sandbox, status):
            return status.phase
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
    return status.phase


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
        failure = preview_record.failure_of(sandbox) or {}
        raise SandboxFailed(sandbox.problem, code=sandbox.code, result=failure | {"log_url": log_url(sandbox.label)})
