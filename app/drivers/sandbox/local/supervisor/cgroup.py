"""Control group (version 2) of one jail, if the operator delegated the parent group of this process.

systemd delegates with `Delegate=yes` and `DelegateSubgroup=`. Elsewhere rlimits and counting apply.
"""

import contextlib
import os
from pathlib import Path

CONTROLLERS = ("cpu", "memory", "pids")
PERIOD_US = 100_000


class Cgroup:
    """A control group. Its processes share limits and can be killed together."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def sibling(
        cls, name: str, root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
    ) -> "Cgroup | None":
        """Return a new group with the same parent, or None if the parent is not delegated or lacks a controller."""
        try:
            path = next(line[3:] for line in own.read_text().splitlines() if line.startswith("0::"))
            parent = root / path.strip("/").rpartition("/")[0]
            available = (parent / "cgroup.controllers").read_text().split()
            if path == "/" or not set(CONTROLLERS) <= set(available):
                return None
            (parent / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in CONTROLLERS))
            folder = parent / f"galley-{name}"
            folder.mkdir(exist_ok=True)
        except (OSError, StopIteration):
            return None
        return cls(folder)

    def limit(self, *, memory_bytes: int, processes: int, cpus: int) -> None:
        """Set the limits and disable swap."""
        self._write("memory.max", str(memory_bytes))
        with contextlib.suppress(OSError):  # kernels without swap accounting
            self._write("memory.swap.max", "0")
        self._write("pids.max", str(processes))
        self._write("cpu.max", f"{cpus * PERIOD_US} {PERIOD_US}")

    def enter(self) -> None:
        """Move the calling process into the group."""
        self._write("cgroup.procs", str(os.getpid()))

    def remove(self) -> None:
        """Kill the remaining processes and remove the group."""
        with contextlib.suppress(OSError):
            self._write("cgroup.kill", "1")
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def _write(self, name: str, value: str) -> None:
        (self.folder / name).write_text(value)
