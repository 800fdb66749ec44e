"""Processes, mounts, sockets and folders of sandboxes, as the kernel reports them."""

import fcntl
import json
import os
from pathlib import Path


def jails_of(root: Path, name: str) -> list[int]:
    """Return the ids of the supervisor and of the first processes of a sandbox."""
    state = json.loads((root / name / "state.json").read_text())
    return [pid for pid, _ in state["processes"]]


def leftovers(root: Path) -> dict[str, list[str]]:
    """Return everything that names the folder. All lists are empty if no sandbox remains."""
    ours, processes = _ancestors(), []
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and int(path.name) not in ours:
            try:
                command_line = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(root) in command_line:
                processes.append(command_line)
    mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(root) in line]
    sockets = [line for line in Path("/proc/net/unix").read_text().splitlines() if str(root) in line]
    folders = [path.name for path in root.iterdir() if not path.name.startswith(".")] if root.exists() else []
    groups = [str(path) for path in Path("/sys/fs/cgroup").rglob("galley-*")]
    return {"processes": processes, "mounts": mounts, "sockets": sockets, "folders": folders, "groups": groups}


def processes_of(user: int) -> list[int]:
    """Return the processes of a user. Each jail that root starts has a separate user."""
    places = (path for path in Path("/proc").iterdir() if path.name.isdigit())
    return [int(path.name) for path in places if _owner(path) == user]


def _owner(path: Path) -> int | None:
    try:
        return path.stat().st_uid
    except OSError:
        return None


def _ancestors() -> set[int]:
    """Return this process and its ancestors, whose command lines may name the folder."""
    pid, pids = os.getpid(), set[int]()
    while pid > 1:
        pids.add(pid)
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pids


def is_locked(folder: Path) -> bool:
    """Return True if a process holds the lock of a sandbox. The kernel frees it after the last thread of the process."""
    try:
        with (folder / "lock").open("rb+") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def is_alive(pid: int) -> bool:
    """Return True if a process runs. A zombie does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
