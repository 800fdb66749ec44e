"""The service's side of a push: the socket of the `pre-receive` hook, the locks of its branches, and its effects."""

import json
import os
import socket
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import structlog
from flask import Flask

from app.concurrency.child_processes import ChildProcess, ExitStatusUnknown
from app.database import transactions
from app.database.errors import DatabaseError
from app.drivers.errors import DriverError
from app.drivers.git.hosts import LocalHost
from app.drivers.git.port import RepoRef
from app.git_http import access, pre_receive
from app.git_http.access import GitCaller
from app.git_http.responses import GitRefusal
from app.resources.git_push import service
from app.resources.git_push.service import RefUpdate
from app.security.private_files import make_private_folder
from app.settings.groups import PROJECT

log = structlog.get_logger(__name__)

HOOK = """#!/bin/sh
PYTHONPATH="$GALLEY_HOOK_ROOT" exec "$GALLEY_HOOK_PYTHON" -P -S -s -m app.git_http.pre_receive
"""
"""The hook of all repositories. It has no text of its own, so that all nodes of an installation write the same file."""

HOOK_MODE = 0o755
POLL_S = 0.1
MESSAGE_S = 30.0
MAX_MESSAGE_BYTES = 4 << 20
NO_OBJECT = "0" * 40
UNAVAILABLE = pre_receive.NOT_AVAILABLE


class HookNotExecutable(DriverError):
    """The file system of the repositories does not permit the execution of the hook. Git would skip it."""


def install_hook(root: Path) -> Path:
    """Return the folder with the hook below the folder of the repositories. Write the hook if it is missing or changed.

    Raises:
        HookNotExecutable: git could not start the hook and would accept the push.
    """
    folder = root / ".hooks"
    hook = folder / "pre-receive"
    if not hook.exists() or hook.read_text() != HOOK or not os.access(hook, os.X_OK):
        make_private_folder(folder)
        descriptor, draft = tempfile.mkstemp(dir=folder)
        with os.fdopen(descriptor, "w") as file:
            file.write(HOOK)
            os.fchmod(file.fileno(), HOOK_MODE)
        Path(draft).replace(hook)
    if not os.access(hook, os.X_OK):
        raise HookNotExecutable("The hook of the local repositories cannot be executed")
    return folder


class Push:
    """A running push. Its thread answers the hook, and holds the locks of the branches until Git has moved them.

    The thread does not depend on the client, which may read the response slowly or leave.
    """

    def __init__(self, app: Flask, host: LocalHost, repository: str, caller: GitCaller) -> None:
        self._app, self._host, self._repository, self._caller = app, host, repository, caller
        self._stack = ExitStack()
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="galley-push-"))
        self._path = Path(folder) / "hook"
        self._listener = self._stack.enter_context(closing(socket.socket(socket.AF_UNIX)))
        self._listener.bind(str(self._path))
        self._listener.listen(1)
        self._listener.settimeout(POLL_S)
        self._thread: threading.Thread | None = None

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment of the hook."""
        return {
            pre_receive.SOCKET: str(self._path),
            "GALLEY_HOOK_PYTHON": sys.executable,
            "GALLEY_HOOK_ROOT": str(PROJECT),
        }

    def watch(self, process: ChildProcess) -> None:
        """Start to answer the hook of the process."""
        self._thread = threading.Thread(target=self._run, args=(process,), name="push", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Wait until the effects of the push are stored. The process must have ended."""
        if self._thread is not None:
            self._thread.join()
        self._stack.close()

    def _run(self, process: ChildProcess) -> None:
        with ExitStack() as locks:
            updates: Sequence[RefUpdate] = ()
            while process.is_running() and not updates:
                with suppress(TimeoutError), closing(self._listener.accept()[0]) as hook:
                    updates = self._answer(hook, locks)
            with suppress(ExitStatusUnknown):
                process.wait()
        if updates:
            self._store_effects(updates)

    def _answer(self, hook: socket.socket, locks: ExitStack) -> Sequence[RefUpdate]:
        """Send the reasons against the push to the hook. Return the permitted updates, with their branches locked."""
        try:
            updates = _read_updates(hook)
            branches = [update.branch for update in updates if update.branch is not None and update.before is not None]
            locks.enter_context(self._host.branches_lock(RepoRef(self._repository), branches[: service.MAX_UPDATES]))
            reasons = self._reasons(updates)
            hook.sendall(json.dumps(reasons).encode() + b"\n")
        except (OSError, ValueError) as error:
            log.warning("git.hook_failed", repository=self._repository, error=type(error).__name__)
            return ()
        return () if reasons else updates

    def _reasons(self, updates: Sequence[RefUpdate]) -> list[str]:
        """Return the reasons against the push. The rights of the caller may have changed since the request began."""
        try:
            with transactions.reading_context(self._app):
                caller = access.find_caller(self._caller.token)
                if caller is None:
                    return ["The API token is not valid. Create or rotate a token"]
                projects = service.projects_of(self._repository, user_id=caller.user_id, grant=caller.grant)
                return service.refusals(updates, projects, caller.grant)
        except GitRefusal as refusal:
            return [refusal.text]
        except DatabaseError:
            log.exception("git.push_check_failed", repository=self._repository)
            return [UNAVAILABLE]

    def _store_effects(self, updates: Sequence[RefUpdate]) -> None:
        """Enqueue the effects of the branches that Git has moved. If this fails, the periodic check finds them."""
        try:
            heads = {branch.name: branch.sha for branch in self._host.branches(RepoRef(self._repository))}
            moved = [update for update in updates if update.branch and heads.get(update.branch) == update.after]
            with self._app.app_context(), transactions.write_transaction():
                service.enqueue_effects(
                    self._repository, moved, user_id=self._caller.user_id, token_id=self._caller.grant.id
                )
        except (DatabaseError, DriverError):
            log.exception("git.push_effects_failed", repository=self._repository)


def _read_updates(hook: socket.socket) -> list[RefUpdate]:
    """Read the message of the hook. Raises OSError or ValueError for an incomplete one."""
    hook.settimeout(MESSAGE_S)
    with hook.makefile("rb") as reader:
        line = reader.readline(MAX_MESSAGE_BYTES)
    return [
        RefUpdate(ref, None if before == NO_OBJECT else before, None if after == NO_OBJECT else after, is_rewrite)
        for ref, before, after, is_rewrite in json.loads(line)
    ]
