"""What of sandboxes is on this machine, told by the kernel: processes, mounts, sockets, folders."""

import json
from pathlib import Path


def jails_of(root: Path, name: str) -> list[int]:
    """Supervisor, outer and inner first process of a sandbox."""
    state = json.loads((root / name / "state.json").read_text())
    return [pid for pid, _ in state["processes"]]


def leftovers(root: Path) -> dict[str, list[str]]:
    """Everything that names the folder, or a jail's own commands."""
    processes = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                words = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(root) in words and "pytest" not in words:
                processes.append(words)
    mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(root) in line]
    sockets = [line for line in Path("/proc/net/unix").read_text().splitlines() if str(root) in line]
    folders = [path.name for path in root.iterdir()] if root.exists() else []
    return {"processes": processes, "mounts": mounts, "sockets": sockets, "folders": folders}


def is_alive(pid: int) -> bool:
    """Whether a process still runs; one that only waits to be counted does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
