"""Repositories that were created for a request whose project is not stored yet.

A marker file in the repository names them. Without their project, a job removes them after an hour, because the process
of the request may have been killed.
"""

import os
import secrets
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from app.drivers.git.local.locks import exclusive

MARKER = "galley-unclaimed"
UNCLAIMED_S = 3_600.0


def mark(folder: Path) -> None:
    """Mark a new repository, which is not visible yet."""
    (folder / MARKER).touch()


def renew(folder: Path) -> None:
    """Renew the marker of a repository, so that it stays for another hour."""
    with exclusive(folder), suppress(FileNotFoundError):
        os.utime(folder / MARKER)


def settle(root: Path, folder: Path, *, is_owned: Callable[[], bool]) -> bool:
    """Remove the marker of a repository with an owner, or the repository. Return whether it was removed."""
    with exclusive(folder) as is_locked:
        if not is_locked or not is_old(folder):
            return False
        if is_owned():
            (folder / MARKER).unlink(missing_ok=True)
            return False
        remove(root, folder)
    return True


def remove(root: Path, folder: Path) -> None:
    """Remove a repository. It disappears at once; a killed process leaves its files to the next creation."""
    target = root / ".new" / secrets.token_hex(8)
    target.parent.mkdir(exist_ok=True)
    with suppress(FileNotFoundError):
        folder.rename(target)
        shutil.rmtree(target, ignore_errors=True)


def is_old(folder: Path) -> bool:
    """Return whether a repository has a marker that is older than an hour."""
    with suppress(FileNotFoundError):
        return (folder / MARKER).stat().st_mtime < time.time() - UNCLAIMED_S
    return False
