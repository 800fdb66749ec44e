"""What a jail uses, counted from outside, where no control group counts it: memory of its processes, bytes of its files."""

import os
import stat
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

UNITS = {b"RssAnon:", b"RssShmem:"}


def memory_bytes(pid: int) -> int:
    """Memory of a process and all below it: anonymous and shared, not the pages of programs and files."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            children[_parent(entry.name)].append(int(entry.name))
    waiting, total = [pid], 0
    while waiting:
        found = waiting.pop()
        total += _resident(found)
        waiting += children[found]
    return total


def disk_bytes(folders: list[Path]) -> int:
    """Allocated bytes below folders, those that are there; symbolic links are not followed, hard links count once."""
    seen: set[tuple[int, int]] = set()
    total = 0
    for folder in folders:
        with suppress(FileNotFoundError):
            total += sum(_sizes(folder, seen))
    return total


def _sizes(folder: Path, seen: set[tuple[int, int]]) -> Iterator[int]:
    for _, names, files, descriptor in os.fwalk(folder, follow_symlinks=False, onerror=lambda _: None):
        for name in (*files, *names):
            try:
                found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISDIR(found.st_mode) or (found.st_dev, found.st_ino) not in seen:
                seen.add((found.st_dev, found.st_ino))
                yield found.st_blocks * 512


def _parent(pid: str) -> int:
    try:
        # The command's name stands in brackets and may hold anything.
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def _resident(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_bytes().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.split()[:1] and line.split()[0] in UNITS)
