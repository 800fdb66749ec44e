"""Start, lease and end of sandboxes. A start connects to the active sandbox of a project, or claims or restarts one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import structlog

from app.concurrency.threadpool import offload
from app.content.marks import MarkRules
from app.core.errors import AppError, TooManyRequests
from app.core.limits import SandboxLimits
from app.database import transactions
from app.drivers.errors import DriverError, ReconnectRequired, UpstreamRejected, UpstreamUnavailable
from app.drivers.git.hosts import GitHosts
from app.drivers.sandbox.port import SandboxEnded, SandboxHost, SandboxSpec
from app.extensions import db, start_background
from app.models.project import MDX_GENERATORS, Project
from app.models.sandbox import ACTIVE_STATES, PreviewState, Sandbox
from app.models.user import User
from app.resources.project_content.source import find_commit, source_of
from app.resources.sandbox import host_sync, marking, service
from app.resources.sandbox.host_sync import start_heartbeat
from app.resources.sandbox.schemas import CreateSandboxBody, UncommittedFileBody
from app.resources.sandbox.site import Site
from app.runtimes.choose import DetectionHints, RuntimeNotDetected
from app.runtimes.failure import hint_for_code
from app.runtimes.recipe import PreviewAddress
from app.security.preview_links import PreviewLinkSigner
from config import Settings

log = structlog.get_logger(__name__)

START_FAILED_MESSAGE = "The preview could not be started"
NOT_DETECTED = "The repository contains no site generator and no page that can be served"
NOT_DETECTED_HINT = "Set preview.root and preview.command in .galley.yml, or the paths of the project."
USUAL_PORTS = {"http": 80, "https": 443}
MAX_CLAIMS = 3
"""Number of claims if the active sandbox ends each time."""


@dataclass(frozen=True)
class StartRequest:
    """Commit to show. `extra` contains files that are not committed."""

    branch: str | None = None
    commit_sha: str | None = None
    extra: Mapping[str, bytes] | None = None


@dataclass(frozen=True)
class SandboxStarter:
    """Starter of sandboxes on one host."""

    git: GitHosts
    host: SandboxHost
    module_proxy: str

    def begin(self, sandbox: Sandbox, request: StartRequest, address: PreviewAddress, *, lifetime_s: float) -> None:
        """Start a sandbox in the background. Its row reports the result."""
        sandbox_id, start_id = sandbox.id, sandbox.start_id or sandbox.label
        start_background("sandbox-start", lambda: self._run(sandbox_id, start_id, request, address, lifetime_s))

    def _run(
        self, sandbox_id: str, start_id: str, request: StartRequest, address: PreviewAddress, lifetime_s: float
    ) -> None:
        with start_heartbeat(sandbox_id, start_id):
            try:
                self._start(sandbox_id, start_id, request, address, lifetime_s)
            except RuntimeNotDetected as error:
                _fail(sandbox_id, start_id, str(error) or NOT_DETECTED, "RUNTIME_UNKNOWN", hint=NOT_DETECTED_HINT)
            except (AppError, UpstreamRejected, UpstreamUnavailable) as error:
                _fail(sandbox_id, start_id, str(error), error.code)
            except ReconnectRequired as error:
                _fail(sandbox_id, start_id, str(error), "NEEDS_RECONNECT")
            except DriverError as error:
                _fail(sandbox_id, start_id, str(error), "SANDBOX_FAILED")
            except Exception:
                log.exception("sandbox.start_failed", sandbox_id=sandbox_id)
                _fail(sandbox_id, start_id, START_FAILED_MESSAGE, "SANDBOX_FAILED")

    def _start(
        self, sandbox_id: str, start_id: str, request: StartRequest, address: PreviewAddress, lifetime_s: float
    ) -> None:
        sandbox = db.session.get_one(Sandbox, sandbox_id)
        project = db.session.get_one(Project, sandbox.project_id)
        owner, network = project.organization_id, project.preview_network
        hints = DetectionHints(project.paths.get("content") or "", self.module_proxy)
        user = db.session.get(User, sandbox.user_id) if sandbox.user_id else None
        source = source_of(project, self.git, branch=request.branch, user=user)
        commit = find_commit(source, request.commit_sha)
        site = Site.at(source, commit, request.extra or {})
        spec = SandboxSpec(start_id, owner, site.recipe(address, hints), lifetime_s, network)
        with transactions.write_transaction():
            if not service.set_commit(sandbox, commit, start_id=start_id, note=spec.recipe.note):
                return
        marked = self._marked_site(sandbox, project, user.id) if sandbox.is_marked and user is not None else None
        with transactions.outside_transaction():
            if marked is not None:
                site = site.replaced(offload(marked.mark, site.small_texts()))
            reference = self.host.start(spec, site.files())
        with transactions.write_transaction():
            is_current = service.set_host_id(sandbox, reference, start_id=start_id)
            if is_current and marked is not None:
                marking.record(sandbox, marked)
        if not is_current:
            self.host.stop(reference)

    def _marked_site(self, sandbox: Sandbox, project: Project, user_id: str) -> marking.MarkedSite:
        schema = marking.schema_of(project, user_id, self.git)
        return marking.begin(sandbox, MarkRules(schema, reads_markdown_as_mdx=project.generator in MDX_GENERATORS))


def _fail(sandbox_id: str, start_id: str, problem: str, code: str, *, hint: str | None = None) -> None:
    transactions.rollback()
    with transactions.write_transaction():
        sandbox = db.session.get(Sandbox, sandbox_id)
        if sandbox is not None:
            failure = service.StartFailure(
                problem, code, step=host_sync.CLONING, hint=hint or hint_for_code(code, problem)
            )
            service.mark_failed(sandbox, failure, start_id=start_id)


@dataclass(frozen=True)
class PreviewUrls:
    """Base URL of the service and the host below which previews are served."""

    base_url: str
    preview_host: str
    links: PreviewLinkSigner

    @classmethod
    def of(cls, settings: Settings) -> "PreviewUrls":
        """Return the addresses of an installation."""
        signer = PreviewLinkSigner(settings.security.secret_key)
        return cls(settings.server.base_url, settings.sandbox.preview_host, signer)

    def address(self, label: str) -> PreviewAddress:
        """Return the address of a preview without a token. Scheme and port are those of the service."""
        parts = urlsplit(self.base_url)
        port = urlsplit(f"//{self.preview_host}").port or parts.port
        host = self.preview_host.rpartition(":")[0] or self.preview_host
        shown = "" if port in (None, USUAL_PORTS.get(parts.scheme)) else f":{port}"
        return PreviewAddress(f"{parts.scheme}://{label}.{host}{shown}/", port or USUAL_PORTS.get(parts.scheme, 80))

    def link(self, label: str, user_id: str) -> str:
        """Return the URL of a preview with a token of this member."""
        return f"{self.address(label).url}?{self.links.query(label, user_id)}"


@dataclass
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
    active, file = _find_active(project, host, editable=body.editable), body.uncommitted_file
    if body.only_if_active:
        is_running = active is not None and active.state is PreviewState.RUNNING
        return SandboxHandle(active.id, is_new=False, pending=file) if active is not None and is_running else None
    with transactions.outside_transaction():
        host.check()
    sandbox = _restart(active, host, limits, count_start) if active is not None and body.force_sync else None
    if sandbox is None:
        sandbox, is_new = _claim(project, user, host, urls, limits, count_start, editable=body.editable)
        if not is_new:
            return SandboxHandle(sandbox.id, is_new=False, pending=file)
    request = StartRequest(body.branch, body.commit_sha, {file.path: file.content.encode()} if file else None)
    lifetime_s = (sandbox.expires_at - service.database_now()).total_seconds()
    starter.begin(sandbox, request, urls.address(sandbox.label), lifetime_s=lifetime_s)
    return SandboxHandle(sandbox.id, is_new=True, pending=None)


def _claim(
    project: Project,
    user: User,
    host: SandboxHost,
    urls: PreviewUrls,
    limits: SandboxLimits,
    count_start: Callable[[], None],
    *,
    editable: bool,
) -> tuple[Sandbox, bool]:
    for _ in range(MAX_CLAIMS):
        with transactions.write_transaction():
            sandbox, is_new = service.claim(
                project,
                user,
                node=host.node,
                address=lambda label: urls.address(label).url,
                limits=limits,
                editable=editable,
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


def renew(sandbox: Sandbox, host: SandboxHost) -> None:
    """Send the remaining lifetime to the host. A sandbox that the host does not have yet receives it at its start."""
    remaining_s = (sandbox.expires_at - service.database_now()).total_seconds()
    if sandbox.host_id is None:
        return
    try:
        with transactions.outside_transaction():
            host.extend(sandbox.host_id, remaining_s)
    except SandboxEnded:
        host_sync.sync_with_host(sandbox, host)


def heartbeat(sandbox: Sandbox | None, host: SandboxHost, *, limits: SandboxLimits) -> dict[str, object]:
    """Extend the lease of the row, then of the host. Return the response."""
    ended: dict[str, object] = {"ok": False, "status": "stopped", "expiresAt": None}
    if sandbox is None:
        return ended
    with transactions.write_transaction():
        remaining_s = service.heartbeat(sandbox, limits=limits)
    if remaining_s is None:
        return ended
    renew(sandbox, host)
    is_active = sandbox.state in ACTIVE_STATES
    return {"ok": True, "status": sandbox.state.value, "expiresAt": sandbox.expires_at} if is_active else ended


def stop(sandbox: Sandbox | None, host: SandboxHost) -> dict[str, bool]:
    """Stop a sandbox and return the response.

    The row ends first, so that a start that is under way stops its own sandbox.
    """
    if sandbox is None:
        return {"ok": True}
    with transactions.write_transaction():
        service.end(sandbox)
    if sandbox.host_id is not None:
        with transactions.outside_transaction():
            host.stop(sandbox.host_id)
    return {"ok": True}


def present_step(project: Project, host: SandboxHost) -> str | None:
    """Return the step of the present start of a project, or None. Updates the row to the state of its host."""
    sandbox = service.find_active(project.id)
    if sandbox is None:
        return None
    status = host_sync.sync_with_host(sandbox, host)
    return host_sync.step_of(status.phase if status else None) if sandbox.state is PreviewState.STARTING else None


def _find_active(project: Project, host: SandboxHost, *, editable: bool) -> Sandbox | None:
    sandbox = service.find_active(project.id, editable=editable)
    if sandbox is None:
        return None
    host_sync.sync_with_host(sandbox, host)
    return sandbox if sandbox.state in ACTIVE_STATES and sandbox.expires_at > service.database_now() else None
