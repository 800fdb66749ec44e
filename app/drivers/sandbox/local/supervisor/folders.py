"""Access to folders of a site by descriptor. No function follows a symbolic link."""

import os
import stat
from pathlib import Path

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def make_accessible(parent: int, name: str, bits: int = stat.S_IRWXU) -> None:
    """Permit the owner to use a folder. The site may have removed the permission. Raises OSError."""
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if status.st_mode & bits == bits:
        return
    descriptor = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        Path(f"/proc/self/fd/{descriptor}").chmod(stat.S_IMODE(status.st_mode) | bits)
    finally:
        os.close(descriptor)
