"""Memory, disk space and files that a jail uses, counted from outside."""

import os
import re
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

UNITS = {b"RssAnon:", b"RssShmem:"}
BLOCK_BYTES = 512
MAX_DEPTH = 256
"""Folder levels that are counted. Each level needs one descriptor."""

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
DELETED_MAPPING = re.compile(
    rb"^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ (\S+) (\d+) +(?!/dev/|/memfd:|/SYSV)\S.* \(deleted\)$", re.M
)


@dataclass
class DiskUsage:
    """Counted bytes and entries. `is_too_deep` is true if folders below `MAX_DEPTH` were not counted."""

    size_bytes: int = 0
    entries: int = 0
    is_too_deep: bool = False
    _counted: set[tuple[int, int]] = field(default_factory=set, repr=False)

    def add(self, status: os.stat_result) -> None:
        """Count an entry. Hard links of one file count as one file of disk space."""
        self.entries += 1
        key = (status.st_dev, status.st_ino)
        if stat.S_ISDIR(status.st_mode) or key not in self._counted:
            self._counted.add(key)
            self.size_bytes += status.st_blocks * BLOCK_BYTES


def processes_below(pid: int) -> list[int]:
    """Return a process and its descendants."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            children[_parent(entry.name)].append(int(entry.name))
    pending, processes = [pid], []
    while pending:
        processes.append(pending.pop())
        pending += children[processes[-1]]
    return processes


def memory_bytes(pid: int) -> int:
    """Return the anonymous and shared memory of a process and its descendants, without pages of files."""
    return sum(map(_resident, processes_below(pid)))


def image_usage(folder: Path) -> tuple[DiskUsage, bool]:
    """Return the usage of a mounted disk image, and whether it is full."""
    status = os.statvfs(folder)
    used = DiskUsage((status.f_blocks - status.f_bfree) * status.f_frsize, status.f_files - status.f_ffree)
    return used, status.f_bavail * status.f_frsize < 1024 * 1024 or status.f_ffree == 0


def folder_usage(folders: Iterable[Path], pid: int) -> DiskUsage:
    """Count the entries below folders and the deleted files that processes below `pid` still use.

    Symbolic links are not followed. The count is not exact while the processes move files.
    """
    usage = DiskUsage()
    for folder in folders:
        _count_folder(folder, usage)
    for process in processes_below(pid):
        _count_open_files(process, usage)
    return usage


def _count_folder(folder: Path, usage: DiskUsage) -> None:
    with suppress(FileNotFoundError):
        stack = [os.open(folder, FOLDER_FLAGS)]
        pending = [_count_entries(stack[0], usage)]
        try:
            while stack:
                if not pending[-1]:
                    os.close(stack.pop())
                    pending.pop()
                elif len(stack) > MAX_DEPTH:
                    usage.is_too_deep = True
                    pending[-1].clear()
                elif (child := _open_child(stack[-1], pending[-1].pop())) is not None:
                    stack.append(child)
                    pending.append(_count_entries(child, usage))
        finally:
            for descriptor in stack:
                os.close(descriptor)


def _count_entries(descriptor: int, usage: DiskUsage) -> list[str]:
    """Count the entries of a folder. Return the names of its folders."""
    folders = []
    with os.scandir(descriptor) as entries:
        for entry in entries:
            with suppress(OSError):
                usage.add(entry.stat(follow_symlinks=False))
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
    return folders


def _open_child(parent: int, name: str) -> int | None:
    with suppress(PermissionError, FileNotFoundError, NotADirectoryError):
        return os.open(name, FOLDER_FLAGS, dir_fd=parent)
    with suppress(OSError):  # The site may have closed the folder. Its owner opens it again.
        path = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        try:
            Path(f"/proc/self/fd/{path}").chmod(stat.S_IRWXU)
        finally:
            os.close(path)
        return os.open(name, FOLDER_FLAGS, dir_fd=parent)
    return None


def _count_open_files(pid: int, usage: DiskUsage) -> None:
    with suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                status = link.stat()
                if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
                    usage.add(status)
    with suppress(OSError):
        for length in _deleted_mappings(Path(f"/proc/{pid}/maps").read_bytes()):
            usage.size_bytes += length


def _deleted_mappings(maps: bytes) -> Iterator[int]:
    """Yield the mapped length of each deleted file. A mapping keeps the file after its descriptor is closed."""
    counted = set()
    for start, end, device, inode in DELETED_MAPPING.findall(maps):
        if (device, inode) not in counted:
            counted.add((device, inode))
            yield int(end, 16) - int(start, 16)


def _parent(pid: str) -> int:
    try:
        # The name of the command is in brackets and may contain any character.
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def _resident(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_bytes().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.split()[:1] and line.split()[0] in UNITS)
