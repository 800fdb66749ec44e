"""Folders, files and stored secrets that only the user of the service may read, with any umask of the process."""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER = 0o700
OTHERS = 0o007
"""The permissions of users who are neither the owner nor in the group of a file."""
OWNER_ONLY = 0o600


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


def read_or_create(file: Path, make: Callable[[], str]) -> str:
    """Return the content of `file`. If it does not exist, write the result of `make` first.

    The file is written under another name and linked, so parallel processes use the same content. Only its owner can
    read it.

    Raises:
        OSError: the folder cannot be written, or the file cannot be read.
    """
    if not file.exists():
        make_private_folder(file.parent)
        draft = file.with_name(f".{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
        try:
            _write(draft, make())
            _link(draft, file)
        finally:
            draft.unlink(missing_ok=True)
    return file.read_text().strip()


def _write(file: Path, text: str) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY), "w") as out:
        out.write(text + "\n")
        out.flush()
        os.fsync(out.fileno())


def _link(draft: Path, file: Path) -> None:
    try:
        os.link(draft, file)
    except FileExistsError:
        return
