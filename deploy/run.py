"""`make run`: bring the database up to date, seed the demo once, then run every process of the Procfile.

The processes share this one's process group, so that a signal to the group reaches all of them; SIGTERM to this
process alone is passed on, and when one process ends, the others are ended too.
"""

import hashlib
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = ROOT / ".venv" / "bin"
# The server drains for 25 s; all is to be gone within 30.
KILL_AFTER_S = 28.0
STEP_S = 0.1

sys.path.insert(0, str(ROOT))

from config import ConfigError, Settings  # noqa: E402 (the checkout is no installed package)


def main() -> int:
    """Prepare, then serve; the exit status is that of the process that ended first."""
    try:
        settings = Settings.from_environment()
    except ConfigError as error:
        sys.exit(str(error))
    os.environ["PATH"] = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    if subprocess.run(["flask", "db", "upgrade"], cwd=ROOT, check=False).returncode != 0:
        sys.exit("Galley was not started: its database could not be migrated.")
    signed_in = "" if settings.is_production else seed_once(settings)
    sys.stdout.write(f"{signed_in}\nGalley answers at {settings.server.base_url}\n\n")
    sys.stdout.flush()
    return serve([line.partition(":")[2].strip() for line in (ROOT / "Procfile").read_text().splitlines()])


def seed_once(settings: Settings) -> str:
    """Seed the demo where this database has none yet; returns the sign-ins, which stand in the instance folder."""
    database = hashlib.sha256(settings.database.url.encode()).hexdigest()[:16]
    note = settings.server.instance_dir / f"demo-{database}.txt"
    if not note.exists():
        seeded = subprocess.run(["flask", "seed", "demo"], cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True)
        if seeded.returncode != 0:  # the service is whole without a demo; the next start tries again
            return "The demo could not be seeded.\n"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.touch(mode=0o600)
        note.write_text(seeded.stdout)
    return note.read_text()


def serve(commands: Sequence[str]) -> int:
    """Run the commands until one ends or we are told to stop; then end the others and wait for them."""
    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _frame: asked.append(received))
    running = [subprocess.Popen(shlex.split(command), cwd=ROOT) for command in commands]
    while not asked and all(process.poll() is None for process in running):
        time.sleep(STEP_S)
    ended = [process.returncode for process in running if process.returncode is not None]
    stop(running)
    return 0 if asked else next(iter(ended), 1) or 1


def stop(running: Sequence[subprocess.Popen[bytes]]) -> None:
    """Send SIGTERM, and SIGKILL to what is still there after 28 seconds."""
    for process in running:
        process.terminate()
    deadline = time.monotonic() + KILL_AFTER_S
    while any(process.poll() is None for process in running) and time.monotonic() < deadline:
        time.sleep(STEP_S)
    for process in running:
        process.kill()
        process.wait()


if __name__ == "__main__":
    sys.exit(main())
