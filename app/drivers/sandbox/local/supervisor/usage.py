"""Use of memory and disk by a sandbox."""

import os
import re
import stat
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
UNITS = {b"RssAnon:", b"RssShmem:"}
BLOCK_BYTES = 512
MIN_FREE_BYTES = 1024 * 1024
MAX_DEPTH = 256
"""Folder levels that are counted. Each level needs one descriptor."""
NAMES_INTERVAL_S = 1.0
"""Time after which the names are counted again.

On a busy machine the sizes of many files take longer than a sandbox may exceed a limit.
"""
DELETED_MAPPING = re.compile(
    rb"^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ (\S+) (\d+) +(?!/dev/|/memfd:|/SYSV)\S.* \(deleted\)$", re.M
)


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


@dataclass
class DiskUsage:
    """Counted bytes and entries. `is_too_deep` is true if folders below `MAX_DEPTH` were not counted."""

    size_bytes: int = 0
    entries: int = 0
    is_too_deep: bool = False


@dataclass(frozen=True)
class DiskLimits:
    """The bounds of a count, which ends as soon as it exceeds one of them."""

    size_bytes: int
    entries: int


class FolderTooDeep(Exception):
    """The folder has more than `MAX_DEPTH` levels."""


def image_usage(folder: Path) -> tuple[DiskUsage, bool]:
    """Return the usage of a mounted disk image, and whether it is full."""
    status = os.statvfs(folder)
    used = DiskUsage((status.f_blocks - status.f_bfree) * status.f_frsize, status.f_files - status.f_ffree)
    return used, status.f_bavail * status.f_frsize < MIN_FREE_BYTES or status.f_ffree == 0


def folder_usage(folder: Path, pid: int, limits: DiskLimits) -> DiskUsage:
    """Count the entries below a folder and the deleted files that processes below `pid` still use.

    The names are counted first, and again while the sizes are added: a name costs a sixth of the time of a size. The
    count is not exact while the processes move files.
    """
    try:
        excess = _excess_of_names(folder, limits)
        if excess is not None:
            return excess
        processes = processes_below(pid)
        statuses = chain(_statuses_below(folder), *map(_deleted_files, processes))
        usage = add_sizes(statuses, folder, limits, names_interval_s=NAMES_INTERVAL_S)
    except FolderTooDeep:
        return DiskUsage(is_too_deep=True)
    usage.size_bytes += sum(map(_deleted_mapped_bytes, processes))
    return usage


def add_sizes(
    statuses: Iterable[os.stat_result], folder: Path, limits: DiskLimits, *, names_interval_s: float
) -> DiskUsage:
    """Add entries until a limit is exceeded. Count the names below `folder` in this interval. Raises FolderTooDeep."""
    usage, shared, counted_at = DiskUsage(), set[tuple[int, int]](), time.monotonic()
    for status in statuses:
        usage.entries += 1
        if stat.S_ISDIR(status.st_mode) or status.st_nlink == 1 or (status.st_dev, status.st_ino) not in shared:
            usage.size_bytes += status.st_blocks * BLOCK_BYTES
        if not stat.S_ISDIR(status.st_mode) and status.st_nlink != 1:
            shared.add((status.st_dev, status.st_ino))
        if usage.entries > limits.entries or usage.size_bytes > limits.size_bytes:
            return usage
        if time.monotonic() >= counted_at + names_interval_s:
            excess = _excess_of_names(folder, limits)
            if excess is not None:
                return excess
            counted_at = time.monotonic()
    return usage


def _excess_of_names(folder: Path, limits: DiskLimits) -> DiskUsage | None:
    """Return the usage if there are more names than permitted, else None. Raises FolderTooDeep."""
    for count, _ in enumerate(_entries_below(folder), 1):
        if count > limits.entries:
            return DiskUsage(entries=count)
    return None


def _statuses_below(folder: Path) -> Iterator[os.stat_result]:
    for entry in _entries_below(folder):
        try:
            yield entry.stat(follow_symlinks=False)
        except OSError:  # removed, or its folder was closed in between
            continue


def _entries_below(folder: Path) -> Iterator["os.DirEntry[str]"]:
    """Yield each entry while its folder is open. Raises FolderTooDeep."""
    pending: list[tuple[int, list[str]]] = []
    with suppress(FileNotFoundError):
        pending.append((os.open(folder, FOLDER_FLAGS), []))
    try:
        if pending:
            yield from _entries(*pending[0])
        while pending:
            descriptor, names = pending[-1]
            if not names:
                os.close(descriptor)
                pending.pop()
            elif (child := _open_child(descriptor, names.pop())) is not None:
                pending.append((child, []))
                if len(pending) > MAX_DEPTH:
                    raise FolderTooDeep
                yield from _entries(*pending[-1])
    finally:
        for descriptor, _ in pending:
            os.close(descriptor)


def _entries(descriptor: int, folders: list[str]) -> Iterator["os.DirEntry[str]"]:
    """Yield the entries of a folder. Add the names of its folders to `folders`."""
    with os.scandir(descriptor) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            yield entry


def _open_child(parent: int, name: str) -> int | None:
    with suppress(OSError):  # The site may remove or replace the folder.
        make_accessible(parent, name, stat.S_IRUSR | stat.S_IXUSR)
        return os.open(name, FOLDER_FLAGS, dir_fd=parent)
    return None


def _deleted_files(pid: int) -> Iterator[os.stat_result]:
    """Yield the deleted files that a process has open."""
    with suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                status = link.stat()
                if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
                    yield status


def _deleted_mapped_bytes(pid: int) -> int:
    """Return the mapped length of the deleted files. A mapping keeps a file after its descriptor is closed."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_bytes()
    except OSError:
        return 0
    lengths: dict[tuple[bytes, bytes], int] = {}
    for start, end, device, inode in DELETED_MAPPING.findall(maps):
        lengths.setdefault((device, inode), int(end, 16) - int(start, 16))
    return sum(lengths.values())
