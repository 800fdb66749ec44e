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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
# What the service calls beside Python: the Debian package, its command, whether nothing works without it.
SYSTEM = {"git": ("git", True), "bubblewrap": ("bwrap", False)}


def main(requirements: str) -> None:
    """Install `requirements` (a file of this checkout) unless its stamp says it is installed."""
    if sys.version_info < (3, 11):  # noqa: UP036 (nothing has checked that yet)
        sys.exit("Galley needs Python 3.11 or later.")
    checkout = os.open(ROOT, os.O_RDONLY)
    fcntl.flock(checkout, fcntl.LOCK_EX)
    install(ROOT / requirements)
    install_system_packages()


def install(requirements: Path) -> None:
    """Create the environment where there is none that runs, and bring it to what `requirements` locks."""
    stamp = VENV / f".{requirements.name}.sha256"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted and runs():
        return
    if not runs():
        say(f"Creating {VENV.name} with Python {sys.version.split()[0]} …")
        subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
    say(f"Installing {requirements.name} …")
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--require-hashes", "-r", str(requirements)], check=True, cwd=ROOT)
    stamp.write_text(wanted)


def runs() -> bool:
    """Whether the environment's interpreter is there and has pip."""
    python = VENV / "bin" / "python"
    return python.exists() and subprocess.run([python, "-c", "import pip"], check=False).returncode == 0


def install_system_packages() -> None:
    """Install what is missing where that is ours to do (root on Debian, once); elsewhere name it in one line."""
    tried = VENV / ".system-packages-tried"
    if missing() and os.geteuid() == 0 and shutil.which("apt-get") and not tried.exists():
        tried.touch()
        say(f"Installing {', '.join(missing())} …")
        apt("update")
        apt("install", "-y", "--no-install-recommends", *missing())
    if missing():
        say(
            f"Not installed: {', '.join(missing())}. Without bubblewrap there are no previews, without git nothing works."
        )
    if any(SYSTEM[package][1] for package in missing()):
        sys.exit(1)


def missing() -> list[str]:
    """The packages whose command is not there."""
    return [package for package, (command, _) in SYSTEM.items() if not shutil.which(command)]


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
