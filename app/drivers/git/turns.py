"""Letting the writers of one branch of a remote repository come one after another, where that is cheap to have."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

Turn = Callable[[str, str], AbstractContextManager[None]]
"""(repository, branch) → held while one writes; only spares failed attempts, so it may do nothing."""


def no_turn(_repository: str, _branch: str) -> AbstractContextManager[None]:
    """Do nothing."""
    return nullcontext()
