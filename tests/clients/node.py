"""npm packages for tests, installed once outside the checkout from a lockfile."""

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "galley-tests"


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
        pytest.skip(f"npm could not install the packages: {done.stderr[-300:]}")
    (folder / "installed").touch()
