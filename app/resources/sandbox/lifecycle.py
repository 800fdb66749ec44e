"""Creation of sandboxes: connect to the active sandbox of a project, restart it, or claim and start a new one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from app.core.clock import iso
from app.core.errors import TooManyRequests
from app.core.limits import SandboxLimits
from app.database import transactions
from app.drivers.sandbox.port import SandboxEnded, SandboxHost
from app.extensions import db
from app.models.project import Project
from app.models.project_preview import PreviewState
from app.models.sandbox import ACTIVE_STATES, Sandbox
from app.models.user import User
from app.resources.sandbox import host_sync, lease, service
from app.resources.sandbox.preview_urls import PreviewUrls
from app.resources.sandbox.schemas import CreateSandboxBody, UncommittedFileBody
from app.resources.sandbox.starter import SandboxStarter, StartRequest

MAX_CLAIMS = 3
"""Number of claims if the active sandbox ends each time."""


@dataclass(frozen=True)
class SandboxHandle:
    """Sandbox of a call: its id, whether the call started it, and the file that must still be written into it."""

    sandbox_id: str
    is_new: bool
    pending: UncommittedFileBody | None


def create(
    project: Project,
    user: User,
    body: CreateSandboxBody,
    *,
    starter: SandboxStarter,
    urls: PreviewUrls,
    limits: SandboxLimits,
    count_start: Callable[[], None],
) -> SandboxHandle | None:
    """Connect to the active sandbox of the project or start one. Return None if `onlyIfActive` and none is running.

    `count_start` is called before a start and may raise. Writes in separate transactions and calls the host between
    them.

    Raises:
        SandboxUnavailable: the host cannot run sandboxes.
        LimitReached: the caller or the organization has the maximum number of sandboxes.
        SandboxStopped: the active sandbox ended repeatedly.
    """
    host = starter.host
    active, file = _find_active(project, host), body.uncommitted_file
    if body.only_if_active:
        is_running = active is not None and active.state is PreviewState.RUNNING
        return SandboxHandle(active.id, is_new=False, pending=file) if active is not None and is_running else None
    with transactions.outside_transaction():
        host.check()
    sandbox = _restart(active, host, limits, count_start) if active is not None and body.force_sync else None
    if sandbox is None:
        sandbox, is_new = _claim(project, user, host, urls, limits, count_start)
        if not is_new:
            return SandboxHandle(sandbox.id, is_new=False, pending=file)
    request = StartRequest(body.branch, body.commit_sha, {file.path: file.content.encode()} if file else None)
    lifetime_s = (sandbox.expires_at - lease.now()).total_seconds()
    starter.begin(sandbox, request, urls.address(sandbox.label), lifetime_s=lifetime_s)
    return SandboxHandle(sandbox.id, is_new=True, pending=None)


def _claim(
    project: Project,
    user: User,
    host: SandboxHost,
    urls: PreviewUrls,
    limits: SandboxLimits,
    count_start: Callable[[], None],
) -> tuple[Sandbox, bool]:
    for _ in range(MAX_CLAIMS):
        with transactions.write_transaction():
            sandbox, is_new = service.claim(
                project, user, node=host.node, address=lambda label: urls.address(label).url, limits=limits
            )
        if is_new:
            _count(sandbox, count_start)
            return sandbox, True
        renew(sandbox, host)
        if sandbox.state in ACTIVE_STATES:
            return sandbox, False
    raise host_sync.SandboxStopped


def _count(sandbox: Sandbox, count_start: Callable[[], None]) -> None:
    """Count a start. A refusal ends the claim again. The count is a call, so it follows the transaction."""
    try:
        count_start()
    except TooManyRequests:
        with transactions.write_transaction():
            service.end(sandbox)
        raise


def _restart(
    sandbox: Sandbox, host: SandboxHost, limits: SandboxLimits, count_start: Callable[[], None]
) -> Sandbox | None:
    """Stop the sandbox on the host and begin a new start of the row. Return None if the sandbox has ended."""
    host_id = sandbox.host_id
    count_start()
    with transactions.write_transaction():
        is_active = service.restart(sandbox, node=host.node, limits=limits)
    if not is_active:
        return None
    if host_id is not None:
        host.stop(host_id)
    return sandbox


def steps(handle: SandboxHandle, host: SandboxHost, user_id: str, *, urls: PreviewUrls) -> Iterator[str]:
    """Yield the steps until the sandbox runs, then write the pending file. Raises as `wait_until_running`.

    The URL of the log of a failed start admits this user.
    """
    yield from host_sync.wait_until_running(handle.sandbox_id, host, lambda label: urls.link(label, user_id))
    if handle.pending is not None:
        host_id = db.session.get_one(Sandbox, handle.sandbox_id).host_id or ""
        with transactions.outside_transaction():
            host.write(host_id, handle.pending.path, handle.pending.content.encode())


def to_response(handle: SandboxHandle, user_id: str, *, urls: PreviewUrls, wrote: bool) -> dict[str, Any]:
    """Return the running sandbox as a response dictionary. The URL admits this user."""
    sandbox = db.session.get_one(Sandbox, handle.sandbox_id, populate_existing=True)
    result: dict[str, Any] = {
        "done": True,
        "active": True,
        "sandboxId": sandbox.id,
        "sandboxName": sandbox.label,
        "previewUrl": urls.link(sandbox.label, user_id),
        "commitSha": sandbox.commit_sha,
        "status": sandbox.state.value,
        "expiresAt": iso(sandbox.expires_at),
    }
    return result | ({"uncommittedSynced": True} if wrote else {})


def renew(sandbox: Sandbox, host: SandboxHost) -> None:
    """Send the remaining lifetime to the host. A sandbox that the host does not have yet receives it at its start."""
    remaining_s = (sandbox.expires_at - lease.now()).total_seconds()
    if sandbox.host_id is None:
        return
    try:
        with transactions.outside_transaction():
            host.extend(sandbox.host_id, remaining_s)
    except SandboxEnded:
        host_sync.sync_with_host(sandbox, host)


def stop(sandbox: Sandbox, host: SandboxHost) -> None:
    """Stop a sandbox. The row ends first, so that a start that is under way stops its own sandbox."""
    with transactions.write_transaction():
        service.end(sandbox)
    if sandbox.host_id is not None:
        with transactions.outside_transaction():
            host.stop(sandbox.host_id)


def _find_active(project: Project, host: SandboxHost) -> Sandbox | None:
    sandbox = service.find_active(project.id)
    if sandbox is None:
        return None
    host_sync.sync_with_host(sandbox, host)
    return sandbox if sandbox.state in ACTIVE_STATES and sandbox.expires_at > lease.now() else None
