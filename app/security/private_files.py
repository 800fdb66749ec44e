"""Folders and files that only the user of the service may read, with any umask of the process."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER = 0o700
OTHERS = 0o007
"""The permissions of users who are neither the owner nor in the group of a file."""


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents. The permissions of existing folders stay.

    Raises:
        OSError: a folder cannot be created.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=FOLDER, exist_ok=True)
    folder.mkdir(mode=FOLDER, exist_ok=True)  # Raises FileExistsError for a file.


@contextmanager
def private_umask() -> Iterator[None]:
    """Create private files during the block, also by other programs. For commands: the umask belongs to the process."""
    before = os.umask(0o777 - FOLDER)
    try:
        yield
    finally:
        os.umask(before)
