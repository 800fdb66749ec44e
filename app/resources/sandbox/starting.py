"""Brings a claimed sandbox to its host: the commit's files, how they are served, the host's `start`.

Runs beside the request that asked (a greenlet where the library is patched), so that a reader who leaves ends nothing.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import structlog
from flask import Flask

from app import transactions
from app.core.content.detect import MAX_MANIFEST_BYTES
from app.core.errors import AppError
from app.core.runtimes.choose import NoRuntime, choose
from app.core.runtimes.recipe import Address, Recipe
from app.drivers.errors import Absent, DriverError, NeedsReconnect, Rejected
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import EntryType, TreeEntry
from app.drivers.sandbox.port import Order, SandboxHost, SiteFile
from app.extensions import db
from app.models.project import Project
from app.models.sandbox import Sandbox
from app.models.user import User
from app.resources.project_content.source import Source, source_of
from app.resources.sandbox import service
from app.resources.sandbox.tending import tending

log = structlog.get_logger(__name__)

MAX_FILES = 50_000
BROKEN = "The preview could not be started"


@dataclass(frozen=True)
class Wish:
    """What of the repository is to be shown; `extra` are files that are not committed."""

    branch: str | None = None
    commit_sha: str | None = None
    extra: Mapping[str, bytes] | None = None


@dataclass(frozen=True)
class Starter:
    """Starts sandboxes of one application."""

    app: Flask
    git: GitHosts
    host: SandboxHost

    def begin(self, sandbox_id: str, wish: Wish, address: Address, *, lifetime_s: float) -> None:
        """Start it in the background; the row tells what became of it."""
        arguments = (sandbox_id, wish, address, lifetime_s)
        threading.Thread(target=self._run, args=arguments, name="sandbox-start", daemon=True).start()

    def _run(self, sandbox_id: str, wish: Wish, address: Address, lifetime_s: float) -> None:
        with self.app.app_context(), tending(self.app, sandbox_id):
            try:
                self._start(sandbox_id, wish, address, lifetime_s)
            except NoRuntime:
                _fail(sandbox_id, "Nothing in the repository tells how to serve it", "RUNTIME_UNKNOWN")
            except (AppError, Rejected, Absent) as error:
                _fail(sandbox_id, str(error), error.code)
            except NeedsReconnect as error:
                _fail(sandbox_id, str(error), "NEEDS_RECONNECT")
            except DriverError as error:
                _fail(sandbox_id, str(error), "SANDBOX_FAILED")
            except Exception:
                log.exception("sandbox.start_failed", sandbox_id=sandbox_id)
                _fail(sandbox_id, BROKEN, "SANDBOX_FAILED")

    def _start(self, sandbox_id: str, wish: Wish, address: Address, lifetime_s: float) -> None:
        transactions.start_reading()
        sandbox = db.session.get_one(Sandbox, sandbox_id)
        project = db.session.get_one(Project, sandbox.project_id)
        actor = db.session.get(User, sandbox.user_id) if sandbox.user_id else None
        source = source_of(project, self.git, branch=wish.branch, actor=actor)
        transactions.rest()
        commit = wish.commit_sha or source.git.head(source.repo, source.branch)
        site = Site(source, commit, wish.extra or {})
        order = Order(sandbox.label, project.id, site.recipe(address), lifetime_s)
        with transactions.writing():
            if not service.commit_found(sandbox, commit):
                return
        transactions.rest()
        reference = self.host.start(order, site.files())
        with transactions.writing():
            wanted = service.handed_over(sandbox, reference)
        transactions.rest()
        if not wanted:
            self.host.stop(reference)


def _fail(sandbox_id: str, problem: str, code: str) -> None:
    db.session.rollback()
    with transactions.writing():
        sandbox = db.session.get(Sandbox, sandbox_id)
        if sandbox is not None:
            service.failed(sandbox, problem, code=code)


class Site:
    """The files of a commit, with those that are not committed over them."""

    def __init__(self, source: Source, commit: str, extra: Mapping[str, bytes]) -> None:
        self._git, self._repo, self._extra = source.git, source.repo, extra
        entries = [entry for entry in self._git.tree(self._repo, commit) if entry.type == EntryType.BLOB]
        if len(entries) > MAX_FILES:
            raise Rejected(f"A preview may have at most {MAX_FILES:,} files")
        self._entries = {entry.path: entry for entry in entries}

    def recipe(self, address: Address) -> Recipe:
        """How these files are served. Raises NoRuntime."""
        return choose([*self._entries, *self._extra], self._read, address)

    def files(self) -> Iterator[SiteFile]:
        """Every file, streamed, but for those too large to be read of their host: a site is seen without its videos."""
        for path, typed in self._extra.items():
            yield SiteFile(path, "100644", typed)
        wanted = [entry for path, entry in self._entries.items() if path not in self._extra]
        for entry, (_, content) in zip(wanted, self._blobs(wanted), strict=True):
            if content is None:
                log.info("sandbox.file_left_out", path=entry.path, sha=entry.sha)
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
