"""What of sandboxes is on this machine, told by the kernel: processes, mounts, sockets, folders."""

import json
import os
from pathlib import Path


def jails_of(root: Path, name: str) -> list[int]:
    """Supervisor, outer and inner first process of a sandbox."""
    state = json.loads((root / name / "state.json").read_text())
    return [pid for pid, _ in state["processes"]]


def leftovers(root: Path) -> dict[str, list[str]]:
    """Everything that names the folder: nothing, once no sandbox is left."""
    ours, processes = _ancestors(), []
    for place in Path("/proc").iterdir():
        if place.name.isdigit() and int(place.name) not in ours:
            try:
                words = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(root) in words:
                processes.append(words)
    mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(root) in line]
    sockets = [line for line in Path("/proc/net/unix").read_text().splitlines() if str(root) in line]
    folders = [path.name for path in root.iterdir() if not path.name.startswith(".")] if root.exists() else []
    groups = [str(path) for path in Path("/sys/fs/cgroup").rglob("galley-*")]
    return {"processes": processes, "mounts": mounts, "sockets": sockets, "folders": folders, "groups": groups}


def processes_of(user: int) -> list[int]:
    """The processes of a user, as root's jails have one each."""
    places = (place for place in Path("/proc").iterdir() if place.name.isdigit())
    return [int(place.name) for place in places if _owner(place) == user]


def _owner(place: Path) -> int | None:
    try:
        return place.stat().st_uid
    except OSError:
        return None


def _ancestors() -> set[int]:
    """This process and those above it, whose command lines may name any folder."""
    pid, found = os.getpid(), set[int]()
    while pid > 1:
        found.add(pid)
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return found


def is_alive(pid: int) -> bool:
    """Whether a process still runs; one that only waits to be counted does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
