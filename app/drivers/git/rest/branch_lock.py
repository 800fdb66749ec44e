"""Locks that serialize the writers of one branch of a remote repository."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from app.drivers.git.local.locks import exclusive_lock
from app.security.private_files import make_private_folder

BranchLock = Callable[[str, str], AbstractContextManager[None]]
"""Function that returns the lock of a branch. The lock only avoids failed attempts, so it may have no effect."""


def no_lock(_repository: str, _branch: str) -> AbstractContextManager[None]:
    """Do nothing."""
    return nullcontext()


def file_locks_in(folder: Path) -> BranchLock:
    """Return locks between the processes of this node, stored in a folder."""

    def take(repository: str, branch: str) -> AbstractContextManager[None]:
        make_private_folder(folder)
        return exclusive_lock(folder, repository, branch)

    return take
