"""Locks between processes on files and folders (flock). A lock ends with its process."""

import fcntl
import hashlib
import os
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import structlog

log = structlog.get_logger()

SLOTS = 1024
WAIT_S = 20.0


@contextmanager
def exclusive(path: Path, *, wait_s: float = 0.0) -> Iterator[bool]:
    """Lock an existing file or folder. Yield False without the lock if it stays locked for `wait_s`.

    Not re-entrant. Waits by sleeping, so that other greenlets run.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield _take(descriptor, time.monotonic() + wait_s)
    finally:
        # In a patched process, gevent closes the descriptor of a folder later, and the lock would stay until then.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


@contextmanager
def exclusive_lock(root: Path, repository: str, *branches: str) -> Iterator[None]:
    """Serialize the writers of branches of a repository. Continue without a lock that others hold for 20 s.

    The locks are taken in one order, so that two writers of the same branches do not wait for each other.
    """
    folder = root / ".locks"
    folder.mkdir(exist_ok=True)
    until_s = time.monotonic() + WAIT_S
    with ExitStack() as locks:
        for number in sorted({_slot(repository, branch) for branch in branches}):
            slot = folder / f"{number:04}"
            slot.touch(exist_ok=True)
            if not locks.enter_context(exclusive(slot, wait_s=until_s - time.monotonic())):
                log.warning("git.lock_timed_out", repository=repository)
        yield


def _slot(*names: str) -> int:
    """Return the number of the lock file of a branch. Branches share lock files, so that their number is bounded."""
    digest = hashlib.sha256("\0".join(names).encode()).digest()
    return int.from_bytes(digest[:4]) % SLOTS


def _take(descriptor: int, until_s: float) -> bool:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until_s:
                return False
            time.sleep(random.uniform(0.002, 0.02))  # noqa: S311 - spreads the attempts, no security purpose
        else:
            return True
