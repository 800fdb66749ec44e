"""The connection of a caller to a sandbox: the steps until it runs, and the response."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from app.core.clock import iso
from app.core.limits import SandboxLimits
from app.database import transactions
from app.extensions import db
from app.models.project import Project
from app.models.sandbox import Sandbox
from app.models.user import User
from app.resources.sandbox import host_sync, lifecycle, marking
from app.resources.sandbox.lifecycle import PreviewUrls, SandboxHandle, SandboxStarter
from app.resources.sandbox.schemas import CreateSandboxBody
from app.resources.source_marks.queries import without_marks


@dataclass(frozen=True)
class CreateResult:
    """Result of a create call. `handle` is None if no sandbox is running and none was requested."""

    handle: SandboxHandle | None
    body: CreateSandboxBody
    user_id: str
    project_id: str
    urls: PreviewUrls
    starter: SandboxStarter
    limits: SandboxLimits


def connect(
    project: Project,
    user: User,
    body: CreateSandboxBody,
    *,
    starter: SandboxStarter,
    urls: PreviewUrls,
    limits: SandboxLimits,
    count_start: Callable[[], None],
) -> CreateResult:
    """Connect to the sandbox of a project or start it. Raises as `lifecycle.create`."""
    user_id, project_id, file = user.id, project.id, body.uncommitted_file
    if file is not None:
        file = replace(file, content=without_marks(project_id, file.content))
        body = replace(body, uncommitted_file=file)
    handle = lifecycle.create(project, user, body, starter=starter, urls=urls, limits=limits, count_start=count_start)
    return CreateResult(handle, body, user_id, project_id, urls, starter, limits)


def steps(result: CreateResult) -> Iterator[host_sync.StartProgress]:
    """Yield the steps until the sandbox runs, then write the pending file. Raises as `wait_until_running`.

    The URL of the log of a failed start admits the caller. A start that is observed keeps its lease.
    """
    handle = result.handle
    if handle is None:
        return
    renewed_at = time.monotonic()
    for progress in _wait_until_running(result, handle):
        yield progress
        if time.monotonic() - renewed_at > result.limits.heartbeat_s / 2:
            renewed_at = time.monotonic()
            sandbox = db.session.get(Sandbox, handle.sandbox_id, populate_existing=True)
            lifecycle.heartbeat(sandbox, result.starter.host, limits=result.limits)
    if handle.pending is not None:
        _write(result, handle.sandbox_id, handle.pending.path, handle.pending.content.encode())


def _wait_until_running(result: CreateResult, handle: SandboxHandle) -> Iterator[host_sync.StartProgress]:
    """Yield the steps of a start. A site that fails with marks starts again with fewer of them, at last without."""
    while True:
        try:
            yield from host_sync.wait_until_running(
                handle.sandbox_id, result.starter.host, lambda label: result.urls.link(label, result.user_id)
            )
        except host_sync.SandboxFailed:
            if not db.session.get_one(Sandbox, handle.sandbox_id).is_marked:
                raise
            _start_again(result, handle)
        else:
            return


def _start_again(result: CreateResult, handle: SandboxHandle) -> None:
    project, user = db.session.get_one(Project, result.project_id), db.session.get_one(User, result.user_id)
    again = lifecycle.create(
        project,
        user,
        replace(result.body, force_sync=False, only_if_active=False),
        starter=result.starter,
        urls=result.urls,
        limits=result.limits,
        count_start=lambda: None,
    )
    if again is not None:
        handle.sandbox_id, handle.pending = again.sandbox_id, again.pending


def _write(result: CreateResult, sandbox_id: str, path: str, content: bytes) -> None:
    """Write a file into a running sandbox. Its marks are recorded before the site can show them."""
    sandbox = db.session.get_one(Sandbox, sandbox_id)
    if sandbox.is_marked:
        project = db.session.get_one(Project, sandbox.project_id)
        schema = marking.schema_of(project, result.user_id, result.starter.git)
        content = marking.mark_edit(sandbox, path, content, schema)
    host_id = sandbox.host_id or ""
    with transactions.outside_transaction():
        result.starter.host.write(host_id, path, content)


def wait(result: CreateResult) -> dict[str, Any]:
    """Wait until the sandbox runs and return the response. Raises as `wait_until_running`."""
    for _step in steps(result):
        pass
    return to_response(result)


def to_response(result: CreateResult) -> dict[str, object]:
    """Return the running sandbox as a response dictionary. The URL admits the caller."""
    if result.handle is None:
        return {"active": False}
    sandbox = db.session.get_one(Sandbox, result.handle.sandbox_id, populate_existing=True)
    response: dict[str, object] = {
        "done": True,
        "active": True,
        "sandboxId": sandbox.id,
        "sandboxName": sandbox.label,
        "previewUrl": result.urls.link(sandbox.label, result.user_id),
        "commitSha": sandbox.commit_sha,
        "status": sandbox.state.value,
        "expiresAt": iso(sandbox.expires_at),
        "editable": sandbox.is_marked,
    }
    if sandbox.unmarked_reason is not None:
        response["editableReason"] = sandbox.unmarked_reason
    return response | ({"uncommittedSynced": True} if result.body.uncommitted_file is not None else {})
