"""Which folder holds the repository `owner/name`; nothing outside the root is ever named."""

import os
import re
from functools import cache
from pathlib import Path

_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_TAKEN_ENDINGS = (".git", ".lock", ".")


def is_repository_name(name: str) -> bool:
    """Tell whether `name` is an `owner/name` that this driver keeps."""
    parts = name.split("/")
    return len(parts) == 2 and all(map(_is_part, parts))


def folder_of(root: Path, name: str) -> Path | None:
    """Where a repository of that name is kept, whether it exists or not.

    None for a bad name, and where a symbolic link stands in the way: a repository would then have two names, and what
    one organization owns could be reached through another's.
    """
    if not is_repository_name(name):
        return None
    owner = Path(_resolved(root), name.partition("/")[0])
    folder = owner / f"{name.partition('/')[2]}.git"
    return None if owner.is_symlink() or folder.is_symlink() else folder


@cache
def _resolved(root: Path) -> str:
    return os.path.realpath(root)


def is_bare_repository(folder: Path) -> bool:
    """Tell whether a folder looks like a bare repository."""
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()


def _is_part(part: str) -> bool:
    return _PART.fullmatch(part) is not None and ".." not in part and not part.lower().endswith(_TAKEN_ENDINGS)
