"""Make `.venv` hold exactly what a locked requirements file names; instant when it does already.

Runs on any Python 3.11 or later, before anything is installed. Two starts of one checkout wait for each other.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
# What is called beside Python: the Debian package, its command, what is not to be had without it.
SERVICE = {"git": ("git", "service at all"), "bubblewrap": ("bwrap", "preview")}
DEVELOPMENT = {"nginx-light": ("nginx", "`make cluster`")}
NEEDED = "git"
# Debian keeps servers where only root's PATH looks.
PLACES = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}/usr/sbin"


def main(requirements: str) -> None:
    """Install `requirements` (a file of this checkout) unless its stamp says it is installed."""
    if sys.version_info < (3, 11):  # noqa: UP036 (nothing has checked that yet)
        sys.exit("Galley needs Python 3.11 or later.")
    checkout = os.open(ROOT, os.O_RDONLY)
    fcntl.flock(checkout, fcntl.LOCK_EX)
    install(ROOT / requirements)
    install_system_packages(SERVICE if requirements == "requirements.txt" else SERVICE | DEVELOPMENT)


def install(requirements: Path) -> None:
    """Create the environment where there is none that runs, and bring it to what `requirements` locks."""
    stamp = VENV / f".{requirements.name}.sha256"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted and runs():
        return
    if not runs():
        say(f"Creating {VENV.name} with Python {sys.version.split()[0]} …")
        if subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=False).returncode != 0:
            sys.exit("The environment could not be made; on Debian, python3-venv must be installed.")
    say(f"Installing {requirements.name} …")
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.run([*pip, "--require-hashes", "-r", str(requirements)], check=False, cwd=ROOT).returncode != 0:
        sys.exit(f"{requirements.name} could not be installed; start again once the package index can be reached.")
    stamp.write_text(wanted)


def runs() -> bool:
    """Whether the environment's interpreter is there and has pip."""
    python = VENV / "bin" / "python"
    return python.exists() and subprocess.run([python, "-c", "import pip"], check=False).returncode == 0


def install_system_packages(packages: Mapping[str, tuple[str, str]]) -> None:
    """Install what is missing where that is ours to do (root on Debian, once); elsewhere name it in one line."""
    tried = VENV / ".system-packages-tried"
    known = tried.read_text().split() if tried.exists() else []
    new = [package for package in missing(packages) if package not in known]
    if new and os.geteuid() == 0 and shutil.which("apt-get"):
        tried.write_text("\n".join([*known, *new]))
        say(f"Installing {', '.join(new)} …")
        apt("update")
        apt("install", "-y", "--no-install-recommends", *new)
    lost = missing(packages)
    for package in lost:
        say(f"Not installed: {package}. Without it there is no {packages[package][1]}.")
    if NEEDED in lost:
        sys.exit(1)


def missing(packages: Mapping[str, tuple[str, str]]) -> list[str]:
    """Those whose command is not there."""
    return [package for package, (command, _) in packages.items() if not shutil.which(command, path=PLACES)]


def apt(*arguments: str) -> None:
    """Run apt-get without questions; whether it helped, the commands show."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            ["apt-get", "-qq", *arguments], env=environment, stdout=subprocess.DEVNULL, timeout=300, check=False
        )


def say(text: str) -> None:
    """Tell the person who typed `make`."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
