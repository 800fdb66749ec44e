"""The branches of a bare repository."""

import random
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from app.core.refs import is_sha
from app.drivers.errors import UpstreamTimeout
from app.drivers.git.local.commands import GitFailed, GitStatusUnknown, command_failure, fields, run
from app.drivers.git.local.locks import exclusive
from app.drivers.git.local.processes import ProcessEnded, ProcessPool
from app.drivers.git.port import Branch

NOTHING = "0" * 40
# A ref is locked for milliseconds. An older lock belongs to a git process that was killed.
STALE_LOCK_S = 5.0
# A deletion rewrites the packed refs, which takes longer if there are many.
STALE_PACKED_LOCK_S = 60.0
LOCK_WAIT_S = 12.0
_UPDATE = ("update-ref", "--stdin")


def default_branch(directory: Path) -> str:
    """Return the branch of HEAD, or `main` if HEAD is detached."""
    head = (directory / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else "main"


def list_branches(directory: Path, *, timeout_s: float) -> list[Branch]:
    """Return all branches sorted by name."""
    default = default_branch(directory)
    done = run(directory, "for-each-ref", "--format=%(refname)%00%(objectname)%00", "refs/heads/", timeout_s=timeout_s)
    values = [field.decode(errors="replace").lstrip("\n") for field in fields([done.stdout])]
    names = (ref.removeprefix("refs/heads/") for ref in values[::2])
    return [Branch(name, sha, name == default, False) for name, sha in zip(names, values[1::2], strict=True)]


def names_conflict(name: str, other: str) -> bool:
    """Return whether two branches cannot exist together. Git stores branches as files: `a` excludes `a/b`."""
    return f"{name}/".startswith(f"{other}/") or other.startswith(f"{name}/")


def read_loose(directory: Path, branch: str) -> str | None:
    """Read the sha from the file of a branch. Return None if the file does not contain one.

    Takes a hundredth of the time of a git process. `branch` must be a valid branch name.
    """
    try:
        content = (directory / "refs/heads" / branch).read_bytes()
    except OSError:
        return None  # packed, in another format, or missing
    sha = content.decode(errors="replace").removesuffix("\n")
    return sha if is_sha(sha) else None


def move(
    processes: ProcessPool, directory: Path, branch: str, new: str, old: str, *, head: Callable[[], str | None]
) -> bool:
    """Set a branch to `new` if it is at `old` (`NOTHING`: does not exist). Return False if it is not.

    Raises:
        UpstreamTimeout: another git process holds the lock of the branch.
        GitStatusUnknown: git ended while it moved the branch.
    """
    until_s = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            _update(processes, directory, f"update refs/heads/{branch} {new} {old}")
        except GitFailed:
            if (head() or NOTHING) != old:
                return False
            if time.monotonic() > until_s:
                raise UpstreamTimeout("The branch is locked by another Git process") from None
        else:
            return True
        remove_stale_locks(directory, branch)
        time.sleep(random.uniform(0.02, 0.1))  # noqa: S311 - spreads the attempts, guards nothing


def _update(processes: ProcessPool, directory: Path, command: str) -> None:
    """Run one transaction. A process serves several of them and ends with the first one that fails."""
    with processes.process(directory, *_UPDATE) as process:
        try:
            process.send(f"start\n{command}\nprepare\ncommit\n".encode())
            for step in (b"start", b"prepare", b"commit"):
                if process.line() != step + b": ok":
                    raise GitStatusUnknown
        except ProcessEnded as error:
            code = process.wait()
            if code is None or code <= 0:
                raise GitStatusUnknown from error
            raise command_failure(_UPDATE, code, process.messages()) from error


def remove_stale_locks(directory: Path, branch: str) -> None:
    """Remove the lock files that a killed git process did not remove.

    One process at a time checks and removes. Otherwise a process could remove a new lock that it has not checked.
    """
    locks = {
        f"refs/heads/{branch}.lock": STALE_LOCK_S,
        "HEAD.lock": STALE_LOCK_S,
        "packed-refs.lock": STALE_PACKED_LOCK_S,
    }
    with exclusive(directory) as is_locked:
        for name, age_s in locks.items():
            with suppress(FileNotFoundError):
                if is_locked and (directory / name).stat().st_mtime < time.time() - age_s:
                    (directory / name).unlink()
