"""Free space of the folders that the service writes to."""

import os
from collections.abc import Iterable
from pathlib import Path

MIN_FREE_BYTES = 16 * 1024 * 1024
MIN_FREE_FILES = 100


def full_folders(
    folders: Iterable[Path], *, min_free_bytes: int = MIN_FREE_BYTES, min_free_files: int = MIN_FREE_FILES
) -> list[Path]:
    """Return the folders whose file system has no room for new files. Folders that do not exist are skipped."""
    return [
        folder
        for folder in dict.fromkeys(folders)
        if folder.exists() and _is_full(folder, min_free_bytes, min_free_files)
    ]


def _is_full(folder: Path, min_free_bytes: int, min_free_files: int) -> bool:
    status = os.statvfs(folder)
    # Some file systems, for example Btrfs, report no number of files.
    has_file_limit = status.f_files > 0
    return status.f_bavail * status.f_frsize < min_free_bytes or (has_file_limit and status.f_favail < min_free_files)
