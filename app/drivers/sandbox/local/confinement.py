"""Requirements of a jail: bubblewrap, a Python for the guest, programs of generators, disk images."""

import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from app.drivers.errors import UpstreamRejected
from app.drivers.sandbox.local.golang import go_mounts
from app.drivers.sandbox.local.node import select_node
from app.drivers.sandbox.local.python import select_python
from app.drivers.sandbox.local.supervisor import disk_image
from app.drivers.sandbox.local.supervisor.bubblewrap import TOOLS, command, outer_user
from app.drivers.sandbox.port import SandboxUnavailable
from app.runtimes.recipe import Recipe

PROBE_TIMEOUT_S = 20
NEEDS = {"bundle": "Ruby and Bundler", "jekyll": "Ruby and Bundler"}
CHECK_CACHE_S = 60
LIBRARY = f"{TOOLS}/lib"
PACKAGES = ("pip",)
"""Tools that are Python packages; the system's own Python often lacks them."""

SYSTEM_PYTHONS = ("/usr/bin/python3", "/usr/local/bin/python3")


@dataclass(frozen=True)
class Interpreter:
    """Path of Python in the jail, and the mounts that it needs."""

    path: str
    mounts: tuple[dict[str, object], ...] = ()


@cache
def interpreter() -> Interpreter:
    """Return the Python of the system, which every jail contains, or the Python of this process with its mount."""
    for path in SYSTEM_PYTHONS:
        if Path(path).exists():
            return Interpreter(path)
    base = sys.base_prefix
    return Interpreter(f"{base}/bin/python3", ({"source": base, "inside": base},))


def tools(recipe: Recipe) -> list[dict[str, object]]:
    """Return the mounts of the programs that a recipe needs, below `/opt/galley`.

    Raises:
        UpstreamRejected: one is not on this machine.
    """
    mounts: list[dict[str, object]] = []
    for name in recipe.tools:
        if name == "node":
            mounts += select_node(recipe.node).mounts()
        elif name == "go":
            mounts += go_mounts()
        elif name in PACKAGES:
            mounts += [
                {"source": _package(name), "inside": f"{LIBRARY}/{name}"},
                *select_python(recipe.python).mounts(),
            ]
        else:
            mounts.append({"source": _tool(name), "inside": f"{TOOLS}/{name}"})
    return mounts


def _package(name: str) -> str:
    """Return the folder of an installed Python package that the Python of the jail can import."""
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise UpstreamRejected(f"The server cannot run {name}: install {name}", code="RUNTIME_UNAVAILABLE")
    return next(iter(spec.submodule_search_locations))


def _tool(name: str) -> str:
    program = _bundled(name) or shutil.which(name)
    if program is None:
        raise UpstreamRejected(
            f"The server cannot run {name}: install {NEEDS.get(name, name)}", code="RUNTIME_UNAVAILABLE"
        )
    return str(Path(program).resolve())


def _bundled(name: str) -> str | None:
    """Return the path of a program in a Python package of the same name."""
    spec = find_spec(name) if name.isidentifier() else None
    folders = spec.submodule_search_locations if spec is not None else None
    candidates = [Path(folder) / "binaries" / name for folder in folders or ()]
    return next((str(path) for path in candidates if path.is_file()), None)


_supports_images: bool | None = None
_checked_at = float("-inf")
_checking = threading.Lock()


def check_confinement() -> None:
    """Start an empty jail, at most once per minute.

    Raises:
        SandboxUnavailable: there is no bubblewrap, or the kernel or the container around us does not allow it.
    """
    global _checked_at
    with _checking:
        if time.monotonic() - _checked_at < CHECK_CACHE_S:
            return
        if sys.platform != "linux" or shutil.which("bwrap") is None:
            raise SandboxUnavailable("Previews require Linux with bubblewrap. The server does not have it")
        argv, options = command([], outer_user("check"), ["/usr/bin/true"], info_fd=1, files={}, seccomp=None)
        try:
            process = subprocess.run(
                argv, capture_output=True, timeout=PROBE_TIMEOUT_S, check=False, pass_fds=[options], env={}, cwd="/"
            )
        except subprocess.TimeoutExpired as error:
            raise SandboxUnavailable(f"bubblewrap did not start within {PROBE_TIMEOUT_S} s") from error
        finally:
            os.close(options)
        if process.returncode != 0:
            raise SandboxUnavailable("The server does not permit bubblewrap to create user namespaces")
        _checked_at = time.monotonic()


def supports_images(root: Path) -> bool:
    """Return whether sandboxes below `root` can have disk images. Tried once per process."""
    global _supports_images
    with _checking:
        if _supports_images is None:
            _supports_images = disk_image.is_supported(root)
        return _supports_images
