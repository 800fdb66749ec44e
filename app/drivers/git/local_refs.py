"""Reading and moving the branches of a bare repository; makes no objects."""

import random
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from app.core.refs import is_sha
from app.drivers.errors import Late
from app.drivers.git.local_commands import GitFailed, fields, run
from app.drivers.git.local_locks import exclusive
from app.drivers.git.port import Branch

NOTHING = "0" * 40
# A ref is locked for milliseconds; a lock this old was left by a git that was killed.
STALE_LOCK_S = 5.0
LOCK_WAIT_S = 12.0


def default_branch(directory: Path) -> str:
    """The branch that HEAD names; `main` when it names none."""
    head = (directory / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else "main"


def list_branches(directory: Path, *, timeout_s: float) -> list[Branch]:
    """All branches, by name."""
    default = default_branch(directory)
    done = run(directory, "for-each-ref", "--format=%(refname)%00%(objectname)%00", "refs/heads/", timeout_s=timeout_s)
    values = [field.decode(errors="replace").lstrip("\n") for field in fields(iter([done.stdout]))]
    names = (ref.removeprefix("refs/heads/") for ref in values[::2])
    return [Branch(name, sha, name == default, False) for name, sha in zip(names, values[1::2], strict=True)]


def read_loose(directory: Path, branch: str) -> str | None:
    """The sha in a branch's own file, as Git writes it whenever the branch moves; None where that file does not tell.

    Costs a hundredth of asking a process. `branch` must be a branch's name.
    """
    try:
        told = (directory / "refs/heads" / branch).read_bytes()
    except OSError:
        return None  # packed, kept in another format, or no such branch
    sha = told.decode(errors="replace").removesuffix("\n")
    return sha if is_sha(sha) else None


def move(
    directory: Path,
    branch: str,
    new: str,
    old: str,
    *,
    head: Callable[[], str | None],
    timeout_s: float,
) -> bool:
    """Set a branch to `new` if it is at `old` (`NOTHING`: if it does not exist); False when it is elsewhere.

    Raises:
        Late: another git holds the branch's lock and does not let go.
    """
    command = f"start\nupdate refs/heads/{branch} {new} {old}\nprepare\ncommit\n".encode()
    until_s = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            run(directory, "update-ref", "--stdin", timeout_s=timeout_s, data=command)
        except GitFailed:
            if (head() or NOTHING) != old:
                return False
            if time.monotonic() > until_s:
                raise Late("The branch is locked by another Git process") from None
        else:
            return True
        remove_stale_locks(directory, branch)
        time.sleep(random.uniform(0.02, 0.1))  # noqa: S311 - spreads the attempts, guards nothing


def remove_stale_locks(directory: Path, branch: str) -> None:
    """Remove the lock files that a killed git left in the way of a branch.

    One process at a time looks and removes: between another's look and its removal the lock could be a new one.
    """
    with exclusive(directory) as held:
        oldest = time.time() - STALE_LOCK_S
        for lock in (directory / f"refs/heads/{branch}.lock", directory / "HEAD.lock"):
            with suppress(FileNotFoundError):
                if held and lock.stat().st_mtime < oldest:
                    lock.unlink()
