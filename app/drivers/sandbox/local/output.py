"""Output of a finished build on the disk of its sandbox. The processes of the site have ended: nothing changes it."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.core.paths import path_error
from app.drivers.errors import UpstreamRejected
from app.drivers.sandbox.local.supervisor.usage import FOLDER_FLAGS
from app.drivers.sandbox.port import OutputFile, OutputLimits

MAX_DEPTH = 64
"""Folder levels of an output. Deeper files have no usual address."""
ENTRIES_PER_FILE = 2
"""Folders, links and special files count as well, so that a walk ends."""
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_output(work: Path, folder: str, limits: OutputLimits) -> Iterator[OutputFile]:
    """Yield the regular files below `folder` of the site's folder `work`, by path. No link is followed.

    Files that their owner may not read are left out.

    Raises:
        UpstreamRejected: there is no such folder, or its files exceed the limits.
    """
    try:
        root = _open_folder(work, folder)
    except OSError as error:
        raise UpstreamRejected(f"The build has no output folder “{folder or '.'}”", code="NO_OUTPUT") from error
    try:
        for path, size in sorted(_sizes(root, limits)):
            with _opened(root, path) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as stream:
                yield OutputFile(path, size, stream)
    finally:
        os.close(root)


def _open_folder(work: Path, folder: str) -> int:
    """Return a descriptor of a folder. Raises OSError, also for a link on the way, and for a folder above."""
    descriptor = os.open(work, FOLDER_FLAGS)
    for name in filter(None, folder.split("/")):
        try:
            if name == "..":
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder)
            child = os.open(name, FOLDER_FLAGS, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = child
    return descriptor


def _sizes(root: int, limits: OutputLimits) -> Iterator[tuple[str, int]]:
    """Yield the path and the size of each file. Raises UpstreamRejected at the first file above a limit."""
    entries = total = files = 0
    for folder, names, file_names, descriptor in os.fwalk(".", dir_fd=root):
        prefix = folder.removeprefix(".").removeprefix("/")
        if prefix.count("/") >= MAX_DEPTH:
            names.clear()
        entries += len(names) + len(file_names)
        for name in file_names:
            status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            path = f"{prefix}/{name}" if prefix else name
            is_readable = stat.S_ISREG(status.st_mode) and status.st_mode & stat.S_IRUSR
            if not is_readable or path_error(path) is not None:
                continue
            files, total = files + 1, total + status.st_size
            if total > limits.size_bytes:
                raise UpstreamRejected("The output of the build is too large", code="OUTPUT_TOO_LARGE")
            yield path, status.st_size
        if files > limits.files or entries > ENTRIES_PER_FILE * limits.files:
            raise UpstreamRejected(f"The build has more than {limits.files:,} files", code="OUTPUT_TOO_LARGE")


@contextmanager
def _opened(root: int, path: str) -> Iterator[int]:
    *folders, name = path.split("/")
    parent = os.dup(root)
    try:
        for folder in folders:
            child = os.open(folder, FOLDER_FLAGS, dir_fd=parent)
            os.close(parent)
            parent = child
        descriptor = os.open(name, FILE_FLAGS, dir_fd=parent)
    finally:
        os.close(parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
