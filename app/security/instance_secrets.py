"""Secrets that are created once and stored in the instance folder."""

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from app.security.private_files import make_private_folder

OWNER_ONLY = 0o600


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
