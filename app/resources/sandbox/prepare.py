"""Calls to the sandbox host before the transactions of the routes."""

from dataclasses import dataclass
from typing import Any

from app.access.scope import ProjectScope
from app.core.limits import MIB, SandboxLimits
from app.database import transactions
from app.drivers.sandbox.port import SandboxHost
from app.extensions import current_settings, drivers
from app.http import rate_limits
from app.models.sandbox import ACTIVE_STATES, Sandbox
from app.resources.sandbox import lifecycle, service
from app.resources.sandbox.guards import SandboxScope
from app.resources.sandbox.lifecycle import PreviewUrls, SandboxHandle, SandboxStarter
from app.resources.sandbox.schemas import CreateSandboxBody, SandboxNameBody
from app.security.preview_links import PreviewLinkSigner

CREATE_BYTES = 5 * MIB
"""A file of a million characters in any encoding of JSON."""


@dataclass(frozen=True)
class CreateResult:
    """Result of a create call. `handle` is None if no sandbox is running and none was requested."""

    handle: SandboxHandle | None
    user_id: str
    organization_id: str
    urls: PreviewUrls
    host: SandboxHost
    has_file: bool


def create(scope: ProjectScope, body: CreateSandboxBody) -> CreateResult:
    """Connect to the sandbox of the project or start it. Only starts count in the rate `sandbox_create`."""
    user_id, organization_id = scope.user.id, scope.organization.id
    host, urls = sandbox_host(), preview_urls()
    starter = SandboxStarter(drivers.git, host, current_settings().sandbox.module_proxy)
    handle = lifecycle.create(
        scope.project,
        scope.user,
        body,
        starter=starter,
        urls=urls,
        limits=_limits(),
        count_start=lambda: rate_limits.count("sandbox_create", user_id),
    )
    if handle is not None and handle.is_new:
        rate_limits.confirm_recorded()  # A start that runs counts, also if the site fails.
    return CreateResult(handle, user_id, organization_id, urls, host, body.uncommitted_file is not None)


def wait(result: CreateResult) -> dict[str, Any]:
    """Wait until the sandbox runs and return the response. Raises as `wait_until_running`."""
    handle = result.handle
    if handle is None:
        return {"active": False}
    for _step in lifecycle.steps(handle, result.host, result.user_id, urls=result.urls):
        pass
    return lifecycle.to_response(handle, result.user_id, urls=result.urls, wrote=result.has_file)


def heartbeat(scope: SandboxScope, body: SandboxNameBody) -> dict[str, object]:
    """Extend the lease of the row, then of the host."""
    ended: dict[str, object] = {"ok": False, "status": "stopped", "expiresAt": None}
    sandbox = _sandbox_of(scope)
    if sandbox is None:
        return ended
    with transactions.write_transaction():
        remaining_s = service.heartbeat(sandbox, limits=_limits())
    if remaining_s is None:
        return ended
    lifecycle.renew(sandbox, sandbox_host())
    is_active = sandbox.state in ACTIVE_STATES
    return {"ok": True, "status": sandbox.state.value, "expiresAt": sandbox.expires_at} if is_active else ended


def stop(scope: SandboxScope, body: SandboxNameBody) -> dict[str, bool]:
    """End the row and the sandbox of the host."""
    sandbox = _sandbox_of(scope)
    if sandbox is not None:
        lifecycle.stop(sandbox, sandbox_host())
    return {"ok": True}


def sandbox_host() -> SandboxHost:
    """Return the sandbox host of the application."""
    host: SandboxHost = drivers.sandbox
    return host


def preview_urls() -> PreviewUrls:
    """Return the URLs of previews as configured."""
    settings = current_settings()
    signer = PreviewLinkSigner(settings.security.secret_key)
    return PreviewUrls(settings.server.base_url, settings.sandbox.preview_host, signer)


def _sandbox_of(scope: SandboxScope) -> Sandbox | None:
    return scope.sandbox or service.find_active(scope.project.id)


def _limits() -> SandboxLimits:
    return current_settings().limits.sandbox
