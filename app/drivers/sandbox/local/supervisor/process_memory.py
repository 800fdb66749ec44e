"""Processes of a jail and the memory that they use, read from outside."""

from collections import defaultdict
from pathlib import Path

UNITS = {b"RssAnon:", b"RssShmem:"}


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
