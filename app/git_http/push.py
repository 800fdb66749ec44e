"""The service's side of a push: the socket of the `pre-receive` hook, the locks of its branches, and its effects."""

import json
import os
import secrets
import socket
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from datetime import timedelta
from pathlib import Path

import structlog
from flask import Flask

from app.concurrency.child_processes import ChildProcess, ExitStatusUnknown
from app.core.outbound import LateRecord
from app.core.temporary_folders import prefix_of
from app.core.unix_sockets import short_address
from app.database import transactions
from app.database.errors import DatabaseError, is_transient
from app.drivers.errors import DriverError
from app.drivers.git.hosts import LocalHost
from app.git_http import access, pre_receive
from app.git_http.access import GitCaller
from app.git_http.responses import GitRefusal
from app.http import late_records
from app.resources.git_push import service
from app.resources.git_push.service import PermittedPush, RefUpdate
from app.security.private_files import make_private_folder
from app.settings.groups import PROJECT

log = structlog.get_logger(__name__)

HOOK = """#!/bin/sh
PYTHONPATH="$GALLEY_HOOK_ROOT" exec "$GALLEY_HOOK_PYTHON" -P -S -s -m app.git_http.pre_receive
"""
"""The hook of all repositories. It has no text of its own, so that all nodes of an installation write the same file."""

HOOK_MODE = 0o755
PURPOSE = "push"
POLL_S = 0.1
MESSAGE_S = 30.0
CHECK_AFTER = timedelta(minutes=11)
"""The time after the permission at which Git has certainly ended. A job then looks for effects that were lost."""

MAX_MESSAGE_BYTES = 4 << 20


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

    def __init__(
        self, app: Flask, host: LocalHost, repository: str, caller: GitCaller, working_branches: Sequence[str]
    ) -> None:
        self._app, self._host, self._repository, self._caller = app, host, repository, caller
        self._working_branches = working_branches
        self._id = secrets.token_hex(16)
        self._permitted: PermittedPush | None = None
        self._stack = ExitStack()
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix=prefix_of(PURPOSE)))
        self._path = Path(folder) / "hook"
        self._listener = self._stack.enter_context(closing(socket.socket(socket.AF_UNIX)))
        with short_address(self._path.parent, self._path.name) as address:
            self._listener.bind(address)
        self._listener.listen(1)
        self._listener.settimeout(POLL_S)
        self._thread: threading.Thread | None = None

    @property
    def is_permitted(self) -> bool:
        """Return whether Git may move the branches now, or has moved them."""
        return self._permitted is not None

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment of the hook."""
        return {
            pre_receive.SOCKET: str(self._path),
            pre_receive.WORKING: json.dumps(self._working_branches),
            pre_receive.BOT_EMAIL: self._app.config["SETTINGS"].git.bot_email,
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
            while process.is_running() and not self.is_permitted:
                with suppress(TimeoutError), closing(self._listener.accept()[0]) as hook:
                    self._answer(hook, locks)
            with suppress(ExitStatusUnknown):
                process.wait()
        if self._permitted is not None:
            self._store_effects(self._permitted)

    def _answer(self, hook: socket.socket, locks: ExitStack) -> None:
        """Send the reasons against the push to the hook. The branches of a permitted push stay locked."""
        try:
            updates = _read_updates(hook)
            branches = [update.branch for update in updates if update.branch is not None and update.before is not None]
            locks.enter_context(self._host.open(self._repository).branches_lock(branches))
            reasons = self._reasons(updates)
            hook.sendall(json.dumps(reasons).encode() + b"\n")
        except (OSError, ValueError) as error:
            log.warning("git.hook_failed", repository=self._repository, error=type(error).__name__)

    def _reasons(self, updates: Sequence[RefUpdate]) -> list[str]:
        """Return the reasons against the push. The rights of the caller may have changed since the request began.

        The transaction that permits a push records its user, because Git can move the branches before this process is
        killed.
        """
        try:
            with transactions.reading_context(self._app):
                caller = access.find_caller(self._caller.token)
                if caller is None:
                    return ["The API token is not valid. Create or rotate a token"]
                moves = [
                    (update.branch, update.before, update.after) for update in updates if update.branch is not None
                ]
                push = PermittedPush(self._id, self._repository, moves, caller.user_id, caller.grant.id)
                with transactions.write_transaction():
                    projects = service.projects_of(self._repository, user_id=caller.user_id, grant=caller.grant)
                    reasons = service.refusals(updates, projects, caller.grant)
                    if not reasons:
                        service.record_permission(push, check_after=CHECK_AFTER)
                self._permitted = None if reasons else push
                return reasons
        except GitRefusal as refusal:
            return [refusal.text]
        except DatabaseError as error:
            log.warning("git.push_check_failed", repository=self._repository, exc_info=not is_transient(error))
            return [pre_receive.NOT_AVAILABLE]

    def _store_effects(self, push: PermittedPush) -> None:
        """Enqueue the effects of a push whose process has ended. If this fails, a job does it."""
        with self._app.app_context():
            try:
                with transactions.write_transaction():
                    service.enqueue_effects(push)
            except DatabaseError as error:
                log.warning("git.push_effects_failed", repository=self._repository, error=type(error).__name__)
                late_records.store(LateRecord(None, [("git_push.permitted", vars(push))]), lambda: None)


def _read_updates(hook: socket.socket) -> list[RefUpdate]:
    """Read the message of the hook. Raises OSError or ValueError for an incomplete one."""
    hook.settimeout(MESSAGE_S)
    with hook.makefile("rb") as reader:
        line = reader.readline(MAX_MESSAGE_BYTES)
    nothing = pre_receive.NOTHING
    return [
        RefUpdate(ref, None if before == nothing else before, None if after == nothing else after, is_rewrite)
        for ref, before, after, is_rewrite in json.loads(line)
    ]
