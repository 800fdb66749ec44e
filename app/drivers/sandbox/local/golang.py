"""Installation of Go on this machine. Hugo needs it for modules."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

from app.drivers.errors import UpstreamRejected
from app.drivers.sandbox.local.supervisor.bubblewrap import TOOLS

MOUNTED_ROOT = f"{TOOLS}/go"
USUAL_PROGRAM = "/usr/local/go/bin/go"
"""Path of the distribution of the Go project, which is often missing in the `PATH` of services."""

TIMEOUT_S = 20


def go_mounts() -> list[dict[str, object]]:
    """Return the mount of the installation, unless each jail contains it. Raises UpstreamRejected without Go."""
    root = go_root()
    if root is None:
        raise UpstreamRejected("The server cannot run go: install Go", code="RUNTIME_UNAVAILABLE")
    return [] if root.is_relative_to("/usr") else [{"source": str(root), "inside": MOUNTED_ROOT}]


def go_bin() -> str:
    """Return the folder of the program `go` in the jail."""
    root = go_root()
    return f"{root}/bin" if root is not None and root.is_relative_to("/usr") else f"{MOUNTED_ROOT}/bin"


@cache
def go_root(usual_program: str = USUAL_PROGRAM) -> Path | None:
    """Return the folder of the installation that contains the standard library and `bin/go`."""
    program = shutil.which("go") or usual_program
    try:
        output = subprocess.run([program, "env", "GOROOT"], capture_output=True, timeout=TIMEOUT_S, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    root = Path(output.decode().strip())
    return root if (root / "bin" / "go").is_file() else None
