"""What a jail on this machine needs from it: a working bubblewrap, a Python for the guest, generators' own programs."""

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from app.drivers.errors import Rejected
from app.drivers.sandbox.port import SandboxUnavailable
from app.drivers.sandbox.supervising.jail import TOOLS, command, outer_user

PROBE_TIMEOUT_S = 20
BELIEVED_S = 60
LIBRARY = f"{TOOLS}/lib"
PACKAGES = ("pip",)
"""Tools that are Python packages; the system's own Python often lacks them."""

SYSTEM_PYTHONS = ("/usr/bin/python3", "/usr/local/bin/python3")


@dataclass(frozen=True)
class Interpreter:
    """Where the jail finds Python, and what has to be shown to it for that."""

    path: str
    mounts: tuple[dict[str, object], ...] = ()


@cache
def interpreter() -> Interpreter:
    """The system's own Python, which every jail sees; else the one that runs us, shown at the same place."""
    for path in SYSTEM_PYTHONS:
        if Path(path).exists():
            return Interpreter(path)
    base = sys.base_prefix
    return Interpreter(f"{base}/bin/python3", ({"source": base, "inside": base},))


def tools(wanted: Iterable[str]) -> list[dict[str, object]]:
    """The programs a recipe asks for, to be shown below `/opt/galley`.

    Raises:
        Rejected: one is not on this machine.
    """
    return [
        {"source": _package(name), "inside": f"{LIBRARY}/{name}"}
        if name in PACKAGES
        else {"source": _tool(name), "inside": f"{TOOLS}/{name}"}
        for name in wanted
    ]


def _package(name: str) -> str:
    """The folder of a Python package of ours, which the jail's own Python can import."""
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise Rejected(f"This installation cannot run {name}", code="RUNTIME_UNAVAILABLE")
    return next(iter(spec.submodule_search_locations))


def _tool(name: str) -> str:
    found = _bundled(name) or shutil.which(name)
    if found is None:
        raise Rejected(f"This installation cannot run {name}", code="RUNTIME_UNAVAILABLE")
    return str(Path(found).resolve())


def _bundled(name: str) -> str | None:
    """A program that a Python package of the same name brings along."""
    spec = find_spec(name) if name.isidentifier() else None
    places = spec.submodule_search_locations if spec is not None else None
    found = [Path(place) / "binaries" / name for place in places or ()]
    return next((str(path) for path in found if path.is_file()), None)


_checked_at = float("-inf")
_checking = threading.Lock()


def check_confinement() -> None:
    """Build a jail around nothing, at most once a minute.

    Raises:
        SandboxUnavailable: there is no bubblewrap, or the kernel or the container around us does not allow it.
    """
    global _checked_at
    with _checking:
        if time.monotonic() - _checked_at < BELIEVED_S:
            return
        if sys.platform != "linux" or shutil.which("bwrap") is None:
            raise SandboxUnavailable("Previews need Linux with bubblewrap, which is not installed here")
        argv = command([], outer_user("check"), ["/usr/bin/true"], info_fd=1, files={}, seccomp=None)
        argv[argv.index("--chdir") + 1] = "/"
        done = subprocess.run(argv, capture_output=True, timeout=PROBE_TIMEOUT_S, check=False)
        if done.returncode != 0:
            raise SandboxUnavailable("This machine does not allow bubblewrap to confine previews")
        _checked_at = time.monotonic()
