"""Secrets that are made once and kept in the instance folder; knows files, not what the secrets are for."""

import os
import secrets
from collections.abc import Callable
from pathlib import Path

OWNER_ONLY = 0o600


def kept(file: Path, make: Callable[[], str]) -> str:
    """What `file` holds; when there is none, what `make` returns, written first so that all starting processes agree.

    The file appears whole, readable by its owner only: it is written under another name and then linked, which fails
    where another process was faster.

    Raises:
        OSError: the folder cannot be written or the file not be read.
    """
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
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
