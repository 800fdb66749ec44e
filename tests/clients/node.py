"""npm packages for tests, installed once outside the checkout from a lockfile."""

import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.console_assets import load_script

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "galley-tests"


def provide_node() -> None:
    """Add Node and npm of the virtual environment to the PATH if the machine has none."""
    if shutil.which("node") is not None and shutil.which("npm") is not None:
        return
    folder, (node, script) = CACHE / "programs", load_script().npm()
    folder.mkdir(parents=True, exist_ok=True)
    for name, arguments in (("node", [node]), ("npm", [node, script])):
        part = folder / f"{name}.{os.getpid()}"
        part.write_text(f'#!/bin/sh\nexec {shlex.join(arguments)} "$@"\n')
        part.chmod(0o755)
        part.rename(folder / name)
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"


def packages(source: Path, npm: Sequence[str] | None = None) -> Path:
    """Return a folder with the packages of a `package-lock.json`. Skip the test if they cannot be installed.

    `npm` is the command of another npm than that of the machine. With it a failed installation is an error.
    """
    if npm is None and (shutil.which("node") is None or shutil.which("npm") is None):
        pytest.skip("Node is not installed")
    digest = hashlib.sha256((source / "package-lock.json").read_bytes()).hexdigest()[:12]
    folder = CACHE / f"{source.name}-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Test processes install one after another; the first one installs for all.
        if not (folder / "installed").exists():
            _install(source, folder, npm)
    return folder


def _install(source: Path, folder: Path, npm: Sequence[str] | None) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(source / name, folder)
    options = ["--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run([*(npm or ["npm"]), "ci", *options], cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode:
        assert npm is None, done.stderr
        assert not os.environ.get("CI"), done.stderr
        pytest.skip(f"npm could not install the packages: {done.stderr[-300:]}")
    (folder / "installed").touch()
