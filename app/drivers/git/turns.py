"""Letting the writers of one branch of a remote repository come one after another, where that is cheap to have."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from app.drivers.git.local_locks import turn

Turn = Callable[[str, str], AbstractContextManager[None]]
"""(repository, branch) → held while one writes; only spares failed attempts, so it may do nothing."""


def no_turn(_repository: str, _branch: str) -> AbstractContextManager[None]:
    """Do nothing."""
    return nullcontext()


def turns_in(folder: Path) -> Turn:
    """Turns among the processes of this node, by locks in a folder."""

    def take(repository: str, branch: str) -> AbstractContextManager[None]:
        folder.mkdir(parents=True, exist_ok=True)
        return turn(folder, repository, branch)

    return take
