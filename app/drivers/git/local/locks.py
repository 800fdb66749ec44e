"""Locks between processes on files and folders (flock). A lock ends with its process."""

import fcntl
import hashlib
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
def exclusive_lock(root: Path, *names: str) -> Iterator[None]:
    """Serialize access to the object that `names` identify. Continue without the lock after 20 s."""
    folder = root / ".locks"
    folder.mkdir(exist_ok=True)
    digest = hashlib.sha256("\0".join(names).encode()).digest()
    slot = folder / f"{int.from_bytes(digest[:4]) % SLOTS:04}"
    slot.touch(exist_ok=True)
    with exclusive(slot, wait_s=WAIT_S) as held:
        if not held:
            log.warning("git.lock_timed_out", repository=names[0])
        yield


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
