"""Installation of locked requirements files in `.venv`. It returns at once if they are installed.

Runs on any Python 3.11 or later, before anything is installed. Two starts of one checkout wait for each other.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
# Programs that the service calls: Debian package, command, and the feature that requires it.
SERVICE = {"git": ("git", "service at all"), "bubblewrap": ("bwrap", "preview")}
DEVELOPMENT = {"nginx-light": ("nginx", "`make cluster`"), "curl": ("curl", "test of the guides")}
NEEDED = "git"
LAST_LINES = 12
SHOWN_EVERY_S = 4.0
FETCHED = ("Collecting ", "Processing ", "Requirement already satisfied", "Ignoring ")
"""Starts of the lines of pip about one package: from an index, from a file, installed, for another platform."""
# On Debian, servers are in folders that only the PATH of root contains.
PLACES = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}/usr/sbin"


def main(*requirements: str) -> None:
    """Install `requirements` (files of this checkout) unless their stamps say that they are installed."""
    if sys.version_info < (3, 11):  # noqa: UP036 (nothing has checked that yet)
        sys.exit("Galley needs Python 3.11 or later.")
    checkout = os.open(ROOT, os.O_RDONLY)
    fcntl.flock(checkout, fcntl.LOCK_EX)
    for name in requirements:
        install(ROOT / name)
    set_application()
    install_system_packages(SERVICE | DEVELOPMENT if "requirements-dev.txt" in requirements else SERVICE)


def install(requirements: Path) -> None:
    """Create the environment if it does not run, and install the locked requirements."""
    stamp = VENV / f".{requirements.name}.sha256"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted and runs():
        return
    if not runs():
        say(f"Creating {VENV.name} with Python {sys.version.split()[0]} …")
        if subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=False).returncode != 0:
            sys.exit("The environment could not be made; on Debian, python3-venv must be installed.")
    say(f"Installing {requirements.name} …")
    # The file lists every package. With dependencies, pip examines newer releases that are not in the file.
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
    lines = installing([*pip, "--no-deps", "--require-hashes", "-r", str(requirements)], packages_of(requirements))
    if lines is not None:
        say("\n".join(lines))
        sys.exit(f"{requirements.name} could not be installed; start again once the package index can be reached.")
    stamp.write_text(wanted)


def packages_of(requirements: Path) -> int:
    """Return the number of packages in a locked file."""
    return sum("==" in line for line in requirements.read_text().splitlines())


def installing(command: list[str], total: int) -> list[str] | None:
    """Run pip and print its progress every few seconds. Return None, or the last lines of pip after a failure."""
    lines: deque[str] = deque(maxlen=LAST_LINES)
    begin = shown_at = time.monotonic()
    count = 0
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as pip:
        for line in pip.stdout or ():
            if line.startswith("Installing collected packages"):
                say(f"  {count} of {total} packages are ready. Unpacking …")
                count = 0
            if not line.startswith("WARNING"):
                lines.append(line.rstrip())
            count += line.startswith(FETCHED)
            now = time.monotonic()
            if count and now - shown_at >= SHOWN_EVERY_S:
                shown_at, left_s = now, (now - begin) * (total - count) / count
                say(f"  {count} of {total} packages, about {left_s:.0f} s left")
    return list(lines) if pip.returncode else None


def set_application() -> None:
    """Make the `flask` command of the environment find the application in every folder without its own `wsgi.py`."""
    entry_point = str(VENV.resolve().parent / "wsgi.py")
    line = f'import os; os.path.exists("wsgi.py") or os.environ.setdefault("FLASK_APP", {entry_point!r})\n'
    for packages in VENV.glob("lib/python*/site-packages"):
        (packages / "galley.pth").write_text(line)


def runs() -> bool:
    """Return whether the interpreter of the environment exists and has pip."""
    python = VENV / "bin" / "python"
    return python.exists() and subprocess.run([python, "-c", "import pip"], check=False).returncode == 0


def install_system_packages(packages: Mapping[str, tuple[str, str]]) -> None:
    """Install missing packages as root on Debian, once; otherwise print one line with their names."""
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
        say(
            f"Not installed: {package}. Without it there is no {packages[package][1]}. On Debian: apt-get install {package}"
        )
    if NEEDED in lost:
        sys.exit(1)


def missing(packages: Mapping[str, tuple[str, str]], places: str = PLACES) -> list[str]:
    """Return the programs whose command is missing."""
    return [package for package, (command, _) in packages.items() if not shutil.which(command, path=places)]


def apt(*arguments: str) -> None:
    """Run apt-get without questions. The caller checks the commands afterwards."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "DEBCONF_NOWARNINGS": "yes"}
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            ["apt-get", "-qq", *arguments], env=environment, stdout=subprocess.DEVNULL, timeout=300, check=False
        )


def say(text: str) -> None:
    """Print a message at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
