"""Start of a claimed sandbox: reads the files of the commit, detects the runtime and starts the host.

Runs in the background, so that a client that disconnects does not end it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import structlog

from app.content.detect import MAX_MANIFEST_BYTES
from app.core.errors import AppError
from app.database import transactions
from app.drivers.errors import DriverError, ReconnectRequired, UpstreamRejected, UpstreamUnavailable
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import EntryType, TreeEntry
from app.drivers.sandbox.port import SandboxHost, SandboxSpec, SiteFile
from app.extensions import db, start_background
from app.models.project import Project
from app.models.sandbox import Sandbox
from app.models.user import User
from app.resources.project_content.source import Source, source_of
from app.resources.project_content.versions.commit_refs import find_commit
from app.resources.sandbox import service
from app.resources.sandbox.start_heartbeat import start_heartbeat
from app.runtimes.choose import DetectionHints, RuntimeNotDetected, choose_recipe
from app.runtimes.failure import hint_for_code
from app.runtimes.recipe import PreviewAddress, Recipe

log = structlog.get_logger(__name__)

MAX_FILES = 50_000
START_FAILED_MESSAGE = "The preview could not be started"
CLONING = "Cloning repository"
NOT_DETECTED = "The repository contains no site generator and no page that can be served"
NOT_DETECTED_HINT = "Set preview.root and preview.command in .galley.yml, or the paths of the project."


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
        site = Site(source, commit, request.extra or {})
        spec = SandboxSpec(start_id, owner, site.recipe(address, hints), lifetime_s, network)
        with transactions.write_transaction():
            if not service.set_commit(sandbox, commit, start_id=start_id):
                return
        reference = self.host.start(spec, site.files())
        with transactions.write_transaction():
            is_current = service.set_host_id(sandbox, reference, start_id=start_id)
        if not is_current:
            self.host.stop(reference)


def _fail(sandbox_id: str, start_id: str, problem: str, code: str, *, hint: str | None = None) -> None:
    transactions.rollback()
    with transactions.write_transaction():
        sandbox = db.session.get(Sandbox, sandbox_id)
        if sandbox is not None:
            failure = service.StartFailure(problem, code, step=CLONING, hint=hint or hint_for_code(code, problem))
            service.mark_failed(sandbox, failure, start_id=start_id)


class Site:
    """Files of a commit, replaced by uncommitted files where they exist."""

    def __init__(self, source: Source, commit: str, extra: Mapping[str, bytes]) -> None:
        self._git, self._repo, self._extra = source.git, source.repo, extra
        entries = [entry for entry in self._git.tree(self._repo, commit) if entry.type == EntryType.BLOB]
        if len(entries) > MAX_FILES:
            raise UpstreamRejected(f"A preview can have at most {MAX_FILES:,} files")
        self._entries = {entry.path: entry for entry in entries}

    def recipe(self, address: PreviewAddress, hints: DetectionHints) -> Recipe:
        """Return the recipe of the files. Raises RuntimeNotDetected."""
        return choose_recipe([*self._entries, *self._extra], self._read, address, hints)

    def files(self) -> Iterator[SiteFile]:
        """Yield every file except those that are too large to read from their Git host."""
        for path, uncommitted in self._extra.items():
            yield SiteFile(path, "100644", uncommitted)
        entries = [entry for path, entry in self._entries.items() if path not in self._extra]
        for entry, (_, content) in zip(entries, self._blobs(entries), strict=True):
            if content is None:
                log.info("sandbox.file_skipped", path=entry.path, sha=entry.sha)
            else:
                yield SiteFile(entry.path, entry.mode, content)

    def _blobs(self, entries: Sequence[TreeEntry]) -> Iterator[tuple[str, bytes | None]]:
        return self._git.blobs(self._repo, [entry.sha for entry in entries])

    def _read(self, path: str) -> bytes | None:
        if path in self._extra:
            return self._extra[path]
        entry = self._entries.get(path)
        if entry is None or (entry.size or 0) > MAX_MANIFEST_BYTES:
            return None
        return self._git.blob(self._repo, entry.sha)
