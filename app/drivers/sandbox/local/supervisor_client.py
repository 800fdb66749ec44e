"""Client of the supervisor of a sandbox: its specification, its start, its lock, its sockets and its commands."""

import fcntl
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from app.core.limits import MIB, SandboxLimits
from app.core.unix_sockets import short_address
from app.drivers.errors import UpstreamRejected
from app.drivers.sandbox.local.confinement import LIBRARY, PACKAGES, interpreter, tools
from app.drivers.sandbox.local.dependency_cache import NODE_MODULES, WRITABLE, DependencyCacheEntry
from app.drivers.sandbox.local.golang import go_bin
from app.drivers.sandbox.local.python import select_python
from app.drivers.sandbox.local.supervisor import disk_image
from app.drivers.sandbox.local.supervisor.bubblewrap import TOOLS
from app.drivers.sandbox.port import SandboxEnded, SandboxSpec, SandboxUnavailable
from app.runtimes.recipe import HOST, PORT, Recipe

ADDRESS_INSIDE, PORT_INSIDE = "127.0.0.1", 3000
PROXY = "http://127.0.0.1:3128"
SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin", "/tmp/.local/bin")  # noqa: S108 (inside the jail)
OPEN_FILES = 4096
PYTHONS, PIPS = ("python", "python3"), ("pip", "pip3")
HEAP_PERCENT = 60
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
"""Certificate authorities of the machine. Package managers with their own list would not know those of an operator."""

ENVIRONMENT = {
    "HOME": "/tmp",  # noqa: S108 (inside the jail)
    "LANG": "C.UTF-8",
    "NODE_ENV": "development",
    "NO_UPDATE_NOTIFIER": "1",
    "npm_config_update_notifier": "false",
    "ASTRO_TELEMETRY_DISABLED": "1",
    "NEXT_TELEMETRY_DISABLED": "1",
    "NUXT_TELEMETRY_DISABLED": "1",
    "GATSBY_TELEMETRY_DISABLED": "1",
    "HUGO_CACHEDIR": "/tmp/hugo",  # noqa: S108 (inside the jail)
    "GOPATH": "/tmp/go",  # noqa: S108 (inside the jail)
    "GOTOOLCHAIN": "local",
    "PIP_BREAK_SYSTEM_PACKAGES": "1",  # Packages of a site are installed below /tmp.
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), PROXY),
    # Yarn 2 and later ignore the other variables.
    **dict.fromkeys(("YARN_HTTP_PROXY", "YARN_HTTPS_PROXY"), PROXY),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "localhost,127.0.0.1,::1"),
}
COMMAND_TIMEOUT_S = 15
ENDED = "The preview has ended"
ROOT = Path(__file__).resolve().parents[4]
BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from app.drivers.sandbox.local.supervisor.main import main; main(sys.argv[2])"
)
"""Start of the supervisor process. It imports the standard library and the supervisor package only."""


def port_of(recipe: Recipe) -> int:
    """Return the port on which the server of a recipe listens."""
    return recipe.port or PORT_INSIDE


def specification(
    folder: Path,
    spec: SandboxSpec,
    cache: DependencyCacheEntry | None,
    *,
    user: int | None,
    image: bool,
    egress: Sequence[str],
    limits: SandboxLimits,
    install_timeout_s: float,
    serve_timeout_s: float,
    build_timeout_s: float,
) -> dict[str, object]:
    """Return the specification for the supervisor of `folder`. Raises UpstreamRejected for an unavailable tool."""
    recipe = spec.recipe
    is_cached, is_new = cache is not None and cache.exists, cache is not None and not cache.exists
    mounts = {mount["inside"]: mount for mount in (*interpreter().mounts, *tools(recipe))}.values()
    return {
        "name": spec.name,
        "user": user,
        "image": image,
        "python": interpreter().path,
        "mounts": [*mounts, *_dependencies(folder, cache)],
        "install": [_filled(command, recipe) for command in (*(() if is_cached else recipe.install), *recipe.prepare)],
        "serve": _filled(spec.command, recipe),
        "builds": spec.builds,
        "output": spec.output,
        "network": spec.network and not spec.builds,
        "cache": str(cache.folder) if cache is not None and is_new else None,
        "cache_folders": _cache_folders(cache) if cache is not None and is_new else [],
        "environment": _environment(recipe, limits),
        "port": port_of(recipe),
        "egress": list(egress),
        "lifetime_s": spec.lifetime_s,
        "install_timeout_s": install_timeout_s,
        "serve_timeout_s": build_timeout_s if spec.builds else serve_timeout_s,
        "limits": {
            "cpus": limits.cpus,
            "memory_bytes": limits.memory_bytes,
            "processes": limits.processes,
            "disk_bytes": limits.disk_bytes,
            "entries": limits.files,
            "log_bytes": limits.log_bytes,
            "files": OPEN_FILES,
        },
    }


def _cache_folders(cache: DependencyCacheEntry) -> list[str]:
    names = WRITABLE if cache.inside.endswith(NODE_MODULES) else ()
    return [f"{cache.inside}/{name}" for name in names]


def _dependencies(folder: Path, cache: DependencyCacheEntry | None) -> list[dict[str, object]]:
    """Return the mount of the cached dependencies, or of the folder that the installation fills."""
    if cache is None:
        return []
    if not cache.exists:
        return [{"source": f"{folder}/disk/deps", "inside": cache.inside, "writable": True}]
    cache.note_use()
    return [{"source": str(cache.folder), "inside": cache.inside, "over": cache.writable}]


def _filled(command: Iterable[str], recipe: Recipe) -> list[str]:
    """Return a command with port and address. A command of a Python site starts with the Python of its version."""
    program, *arguments = (part.replace(PORT, str(port_of(recipe))).replace(HOST, ADDRESS_INSIDE) for part in command)
    if "pip" not in recipe.tools or program not in (*PYTHONS, *PIPS):
        return [program, *arguments]
    python = select_python(recipe.python).program
    return [python, *(("-m", "pip") if program in PIPS else ()), *arguments]


def _environment(recipe: Recipe, limits: SandboxLimits) -> dict[str, str]:
    bins = (f"/work/{folder}" for folder in recipe.program_folders)
    own = {"PORT": str(port_of(recipe)), "HOST": ADDRESS_INSIDE, "GALLEY_FOLDER": recipe.folder}
    packages = recipe.environment.get("PYTHONPATH")
    programs = [*([go_bin()] if "go" in recipe.tools else []), *([f"{packages}/bin"] if packages else []), *bins]
    own |= {"PATH": ":".join([TOOLS, *programs, *SYSTEM_PATH])}
    paths = [packages, LIBRARY if any(name in PACKAGES for name in recipe.tools) else None]
    own |= {"PYTHONPATH": ":".join(filter(None, paths))} if any(paths) else {}
    trusted = dict.fromkeys(("PIP_CERT", "NODE_EXTRA_CA_CERTS"), AUTHORITIES) if Path(AUTHORITIES).exists() else {}
    # Without a control group Node.js derives the size of its heap from the memory of the machine.
    heap = {"NODE_OPTIONS": f"--max-old-space-size={limits.memory_bytes * HEAP_PERCENT // 100 // MIB}"}
    return ENVIRONMENT | heap | trusted | dict(recipe.environment) | own


def is_supervised(folder: Path) -> bool:
    """Return whether the supervisor runs. The kernel frees the lock of the folder when the process ends."""
    try:
        lock = os.open(folder / "lock", os.O_WRONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def wait_for_end(folder: Path, timeout_s: float) -> None:
    """Wait until the supervisor has ended, at most `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while is_supervised(folder) and time.monotonic() < deadline:
        time.sleep(0.02)


def send_command(folder: Path, *, timeout_s: float = COMMAND_TIMEOUT_S, **command: object) -> None:
    """Send a command and wait for its result.

    Raises:
        SandboxEnded: the supervisor has ended.
        UpstreamRejected: the command failed.
    """
    with closing(connect(folder, "control.sock")) as connection:
        connection.settimeout(timeout_s)
        connection.sendall(json.dumps(command).encode() + b"\n")
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    if not answer:
        raise SandboxEnded(ENDED)
    error = json.loads(answer)["error"]
    if error is not None:
        raise UpstreamRejected(f"The file could not be written: {error}")


def connect(folder: Path, name: str) -> socket.socket:
    """Connect to a socket of the folder. Raises SandboxEnded."""
    if not is_supervised(folder):
        raise SandboxEnded(ENDED)
    connection = socket.socket(socket.AF_UNIX)
    try:
        with short_address(folder, name) as address:
            connection.connect(address)
    except OSError as error:
        connection.close()
        raise SandboxEnded(ENDED) from error
    return connection


def port_of_site(folder: Path) -> int:
    """Return the port on which the site's server answers in the jail. Raises SandboxEnded."""
    try:
        return int(json.loads((folder / "state.json").read_text())["port"])
    except (OSError, ValueError, KeyError) as error:
        raise SandboxEnded(ENDED) from error


class SupervisorProcess:
    """A supervisor that waits for the files of its site."""

    def __init__(self, process: "subprocess.Popen[bytes]", pid: int) -> None:
        self.pid, self._process = pid, process

    def release(self) -> None:
        """Let the supervisor start the jail."""
        stream: Any = self._process.stdin  # a pipe
        stream.write(b"\n")
        stream.flush()


@contextmanager
def start_supervisor(folder: Path) -> Iterator[SupervisorProcess]:
    """Start the supervisor of a folder. It ends if the block ends before `release`. Raises SandboxUnavailable."""
    command = [sys.executable, "-I", "-S", "-B", "-c", BOOT, str(ROOT), str(folder)]
    if (folder / "disk.img").exists():
        command = ["unshare", "--mount", "--propagation", "private", *command]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PATH": disk_image.SYSTEM_PATH},
        start_new_session=True,
    ) as process:
        line = process.stdout.readline() if process.stdout else b""
        if not line.strip().isdigit():
            raise SandboxUnavailable("The supervisor of the sandbox could not be started")
        yield SupervisorProcess(process, int(line))
