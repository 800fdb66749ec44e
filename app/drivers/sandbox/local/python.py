"""Installations of Python on this machine, and the selection of one for a site."""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from app.drivers.errors import UpstreamRejected
from app.runtimes.python_sites import is_satisfied
from app.runtimes.recipe import Version

NAMES = ("python3", *(f"python3.{minor}" for minor in range(10, 20)))
SYSTEM_FOLDERS = ("/usr/bin", "/usr/local/bin")
"""Folders that each jail contains."""

DESCRIBE = "import json, sys; print(json.dumps([sys.version_info[:3], sys.executable, sys.base_prefix]))"
TIMEOUT_S = 20


@dataclass(frozen=True)
class PythonProgram:
    """A Python interpreter: its version, its path and the folder of its installation."""

    version: Version
    program: str
    prefix: str

    def mounts(self) -> list[dict[str, object]]:
        """Return the mount of the installation, unless each jail contains it."""
        if self.program.startswith("/usr/"):
            return []
        return [{"source": self.prefix, "inside": self.prefix}]


def select_python(declared: str | None, available: Sequence[PythonProgram] | None = None) -> PythonProgram:
    """Return the newest Python in the range of the site, or the newest one without a range.

    If none is in the range, return that of the system. `available` defaults to the installations of this machine.

    Raises:
        UpstreamRejected: Python is not installed.
    """
    candidates = installations() if available is None else available
    if not candidates:
        raise UpstreamRejected("The server cannot run python3: install Python", code="RUNTIME_UNAVAILABLE")
    suitable = [candidate for candidate in candidates if declared is None or is_satisfied(candidate.version, declared)]
    # The system has priority over another installation of the same version: each jail contains it.
    return max(suitable, key=lambda candidate: candidate.version[:2], default=candidates[0])


@cache
def installations(system_folders: tuple[str, ...] = SYSTEM_FOLDERS) -> tuple[PythonProgram, ...]:
    """Return the Pythons of the system, of the `PATH` and of this process. The default comes first."""
    programs = [f"{folder}/{name}" for folder in system_folders for name in NAMES]
    programs += [path for path in map(shutil.which, NAMES) if path is not None]
    programs.append(f"{sys.base_prefix}/bin/python3")
    described = [_describe(program) for program in dict.fromkeys(programs) if Path(program).exists()]
    return tuple(dict.fromkeys(version for version in described if version is not None))


def _describe(program: str) -> PythonProgram | None:
    try:
        output = subprocess.run(
            [program, "-I", "-c", DESCRIBE], capture_output=True, timeout=TIMEOUT_S, check=True
        ).stdout
        version, executable, prefix = json.loads(output)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    real, folder = Path(executable).resolve(), Path(prefix).resolve()
    # A wrapper outside of its installation would not start in the jail.
    return PythonProgram(tuple(version), str(real), str(folder)) if real.is_relative_to(folder) else None
