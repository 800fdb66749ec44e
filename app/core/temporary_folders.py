"""Names of temporary folders that contain the id of their process, so that those of killed processes can be removed.

gunicorn imports this module before it patches the standard library.
"""

import os
import shutil
import tempfile
from pathlib import Path


def prefix_of(purpose: str) -> str:
    """Return the prefix of the folders of this process for a purpose."""
    return f"galley-{purpose}-{os.getpid()}-"


def remove_leftovers(purpose: str) -> None:
    """Remove the folders of ended processes. Call it before this process creates one: its id can be used again."""
    for folder in Path(tempfile.gettempdir()).glob(f"galley-{purpose}-*-*"):
        pid = folder.name.split("-")[2]
        if pid.isdecimal() and (int(pid) == os.getpid() or not _is_running(int(pid))):
            shutil.rmtree(folder, ignore_errors=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # The process of another user.
        pass
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Return whether a process has ended, but its parent has not collected its exit status."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z"
    except OSError:
        return False
