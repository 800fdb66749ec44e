"""`make run`: migrate the database, seed the demo once, then run every process of the Procfile.

The processes share this one's process group, so that a signal to the group reaches all of them; SIGTERM to this
process alone is passed on, and when one process ends, the others are ended too.
"""

import contextlib
import errno
import hashlib
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = ROOT / ".venv" / "bin"
# The server drains for 25 s. All processes must exit within 30 s.
KILL_AFTER_S = 28.0
STEP_S = 0.1
ASSETS_TIMEOUT_S = 30.0

sys.path.insert(0, str(ROOT))

from app.security.private_files import make_private_folder  # noqa: E402 (the checkout is no installed package)
from config import ConfigError, Settings  # noqa: E402


def main() -> int:
    """Prepare and serve. The exit status is that of the first process that ended."""
    try:
        settings = Settings.from_environment()
    except ConfigError as error:
        sys.exit(str(error))
    if is_occupied(settings.server.host, settings.server.port):
        sys.exit(f"Port {settings.server.port} is in use. Set PORT to another one, for example: make run PORT=8001")
    os.environ["PATH"] = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    assets = subprocess.Popen([sys.executable, str(ROOT / "deploy" / "console_assets.py")], cwd=ROOT)
    say("Updating the database …")
    if subprocess.run(["flask", "db", "upgrade"], cwd=ROOT, check=False).returncode != 0:
        sys.exit("Galley was not started: its database could not be migrated.")
    sign_ins = "" if settings.is_production else seed_once(settings)
    with contextlib.suppress(subprocess.TimeoutExpired):
        assets.wait(ASSETS_TIMEOUT_S)  # the build continues; until it ends, the pages have no script
    message = f"\n{sign_ins}\nGalley runs at {settings.server.base_url}\n"
    address = (settings.server.host, settings.server.port)
    commands = [line.partition(":")[2].strip() for line in (ROOT / "Procfile").read_text().splitlines()]
    return serve(commands, when_ready=lambda stopped: print_when_open(address, message, stopped))


def seed_once(settings: Settings) -> str:
    """Seed the demo if the database has none. Return the sign-ins, which the instance folder stores."""
    database = hashlib.sha256(settings.database.url.encode()).hexdigest()[:16]
    note = settings.server.instance_dir / f"demo-{database}.txt"
    if not note.exists():
        say("Creating the demo …")
        seeded = subprocess.run(["flask", "seed", "demo"], cwd=ROOT, check=False, capture_output=True, text=True)
        if seeded.returncode != 0:  # the service works without a demo; the next start tries again
            sys.stderr.write(seeded.stderr)
            return "The demo could not be seeded.\n"
        make_private_folder(note.parent)
        note.touch(mode=0o600)
        note.write_text(seeded.stdout)
    return note.read_text()


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def is_occupied(host: str, port: int) -> bool:
    """Return whether another process uses the port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind((host, port))
        except OSError as error:
            return error.errno == errno.EADDRINUSE
    return False


def print_when_open(address: tuple[str, int], message: str, stopped: threading.Event) -> None:
    """Print the message when the port accepts connections. Return without it if the service stops first."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address[0], address[0])  # noqa: S104 (an address to connect to)
    while not stopped.wait(STEP_S):
        try:
            socket.create_connection((host, address[1]), timeout=1).close()
        except OSError:
            continue
        say(message)
        return


def serve(commands: Sequence[str], *, when_ready: Callable[[threading.Event], None] | None = None) -> int:
    """Run the commands until one ends or a signal arrives, then stop the others and wait for them.

    `when_ready` runs in a thread and receives the event that the service stops.
    """
    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _frame: asked.append(received))
    running = [subprocess.Popen(shlex.split(command), cwd=ROOT) for command in commands]
    stopped = threading.Event()
    if when_ready is not None:
        threading.Thread(target=when_ready, args=(stopped,), daemon=True).start()
    while not asked and all(process.poll() is None for process in running):
        time.sleep(STEP_S)
    ended = [process.returncode for process in running if process.returncode is not None]
    stopped.set()
    stop(running)
    return 0 if asked else next(iter(ended), 1) or 1


def stop(running: Sequence[subprocess.Popen[bytes]]) -> None:
    """Send SIGTERM, and SIGKILL to processes that run after 28 seconds."""
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
