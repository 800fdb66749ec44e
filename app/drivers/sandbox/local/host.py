"""Sandboxes on this machine: each is a folder, a supervisor process and a bubblewrap jail.

The folder below `root` contains all state of a sandbox. Every process of the machine that can read it can query, write,
extend and stop the sandbox. A supervisor holds the lock of its folder as long as it lives.
"""

import base64
import fcntl
import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from app.concurrency.threadpool import offload
from app.core.limits import SandboxLimits
from app.drivers.errors import UpstreamRejected
from app.drivers.sandbox.local.confinement import check_confinement, supports_images
from app.drivers.sandbox.local.dependency_cache import DependencyCacheEntry, cache_entry_for, evict_old
from app.drivers.sandbox.local.folders import check_name, end_processes, make_folder
from app.drivers.sandbox.local.removal import remove_tree
from app.drivers.sandbox.local.site_files import write_site
from app.drivers.sandbox.local.spec import specification
from app.drivers.sandbox.local.supervisor import disk_image
from app.drivers.sandbox.local.supervisor.bubblewrap import outer_user
from app.drivers.sandbox.local.supervisor.log_ring import tail
from app.drivers.sandbox.port import (
    Phase,
    SandboxEnded,
    SandboxSpec,
    SandboxStatus,
    SandboxUnavailable,
    SiteFile,
    Upstream,
)
from app.security.instance_secrets import read_or_create

ROOT = Path(__file__).resolve().parents[4]
BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from app.drivers.sandbox.local.supervisor.main import main; main(sys.argv[2])"
)
"""Start of the supervisor process. It imports the standard library and the supervisor package only."""

CACHE = ".kept"
INSTALL_TIMEOUT_S = 300
SERVE_TIMEOUT_S = 180
TAIL_BYTES = 8 * 1024
CONTROL_TIMEOUT_S = 15
STOP_TIMEOUT_S = 3


class LocalSandboxes:
    """Sandboxes below one folder of this machine. `images` decides whether each gets a disk image (None: if possible)."""

    def __init__(
        self,
        root: Path,
        *,
        egress: Collection[str] = (),
        limits: SandboxLimits | None = None,
        install_timeout_s: float = INSTALL_TIMEOUT_S,
        serve_timeout_s: float = SERVE_TIMEOUT_S,
        images: bool | None = None,
    ) -> None:
        self._root, self._egress, self._limits = root, tuple(egress), limits or SandboxLimits()
        self._install_timeout_s, self._serve_timeout_s = install_timeout_s, serve_timeout_s
        self._images = images

    @property
    def node(self) -> str:
        """Return the name of the folder. Containers that share the folder are one node."""
        return read_or_create(self._root / ".node", lambda: f"local-{secrets.token_hex(8)}")

    def check(self) -> None:
        """Start an empty jail, at most once per minute. Raises SandboxUnavailable."""
        check_confinement()

    def start(self, order: SandboxSpec, files: Iterable[SiteFile]) -> str:
        """Write the folder, start the supervisor and return the name."""
        check_confinement()
        evict_old(self._root / CACHE)
        folder = self._root / check_name(order.name)
        folder.mkdir(parents=True, mode=0o700)
        try:
            self._fill(folder, order, files)
        except BaseException:
            self.stop(order.name)
            raise
        return order.name

    def _fill(self, folder: Path, order: SandboxSpec, files: Iterable[SiteFile]) -> None:
        user = outer_user(order.name)
        cache = cache_entry_for(self._root / CACHE, order.owner, order.recipe)
        image = supports_images(self._root) if self._images is None else self._images
        spec = specification(
            folder,
            order,
            cache,
            user=user,
            image=image,
            egress=self._egress,
            limits=self._limits,
            install_timeout_s=self._install_timeout_s,
            serve_timeout_s=self._serve_timeout_s,
        )
        (folder / "spec.json").write_text(json.dumps(spec))
        (folder / "disk").mkdir(mode=0o755)
        if image:
            disk_image.create(folder / "disk.img", size_bytes=self._limits.disk_bytes, files=self._limits.files)
        with _supervisor(folder) as supervisor:
            # The image is mounted in the mount namespace of the supervisor only.
            disk = Path(f"/proc/{supervisor.pid}/root{folder}/disk") if image else folder / "disk"
            self._write_disk(disk, files, user, cache)
            supervisor.release()

    def _write_disk(
        self, disk: Path, files: Iterable[SiteFile], user: int | None, cache: DependencyCacheEntry | None
    ) -> None:
        for name in ("work", "tmp", "deps"):
            make_folder(disk / name, user)
        # A mount point below /work must be a folder: bubblewrap would follow a link of the site.
        points = (
            [cache.inside.removeprefix("/work/")] if cache is not None and cache.inside.startswith("/work/") else []
        )
        write_site(disk / "work", files, user=user, max_bytes=self._limits.disk_bytes, folders=points)

    def status(self, reference: str) -> SandboxStatus:
        """Read the state that the supervisor wrote. Without a supervisor only a failure is reported."""
        folder = self._folder(reference)
        is_alive = _is_held(folder)
        try:
            state = json.loads((folder / "state.json").read_text())
        except (OSError, ValueError):
            return SandboxStatus(Phase.INSTALLING if is_alive else Phase.ENDED)
        phase = Phase(state["phase"])
        if phase is not Phase.FAILED:
            return SandboxStatus(phase, log=tail(folder, TAIL_BYTES)) if is_alive else SandboxStatus(Phase.ENDED)
        return SandboxStatus(
            phase,
            state["problem"],
            tail(folder, TAIL_BYTES),
            step=Phase(state["step"]),
            cause=state["cause"],
            refused_hosts=tuple(state["refused"]),
            unreachable_hosts=tuple(state.get("unreachable", ())),
        )

    def read_log(self, reference: str) -> str:
        """Read both halves of the log."""
        return tail(self._folder(reference), self._limits.log_bytes)

    def write(self, reference: str, path: str, content: bytes) -> None:
        """Send the file to the guest, which writes it as the user of the site."""
        self._control(reference, do="write", path=path, content=base64.b64encode(content).decode())

    def extend(self, reference: str, lifetime_s: float) -> None:
        """Change the deadline of the supervisor."""
        self._control(reference, do="extend", lifetime_s=lifetime_s)

    def connect(self, reference: str) -> Upstream:
        """Connect to the socket that the guest forwards to the port of the server."""
        folder = self._folder(reference)
        if not _is_held(folder):
            raise SandboxEnded("The preview has ended")
        inside = f"localhost:{_port(folder)}"
        return Upstream(_connect(folder, "serve.sock"), inside, f"http://{inside}")

    def stop(self, reference: str) -> None:
        """Ask the supervisor to end, kill it if it does not, then remove the folder."""
        folder = self._folder(reference)
        with suppress(SandboxEnded, UpstreamRejected, OSError, ValueError):
            self._control(reference, timeout_s=STOP_TIMEOUT_S, do="stop")
        _wait_until_free(folder, STOP_TIMEOUT_S)
        end_processes(folder)
        _wait_until_free(folder, STOP_TIMEOUT_S)
        try:
            offload(remove_tree, folder)
        except OSError as error:
            raise SandboxUnavailable(f"Cannot remove the files of a preview: {error.strerror}") from error

    def list_sandboxes(self) -> Mapping[str, str]:
        """Return the folders. The reference of a sandbox is its name."""
        try:
            return {entry.name: entry.name for entry in self._root.iterdir() if not entry.name.startswith(".")}
        except FileNotFoundError:
            return {}

    def _folder(self, reference: str) -> Path:
        return self._root / check_name(reference)

    def _control(self, reference: str, *, timeout_s: float = CONTROL_TIMEOUT_S, **command: object) -> None:
        folder = self._folder(reference)
        if not _is_held(folder):
            raise SandboxEnded("The preview has ended")
        with closing(_connect(folder, "control.sock")) as connection:
            connection.settimeout(timeout_s)
            connection.sendall(json.dumps(command).encode() + b"\n")
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        if not answer:
            raise SandboxEnded("The preview has ended")
        error = json.loads(answer)["error"]
        if error is not None:
            raise UpstreamRejected(f"The file could not be written: {error}")


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
def _supervisor(folder: Path) -> Iterator[SupervisorProcess]:
    """Start the supervisor of a folder. It ends if the block ends before `release`."""
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


def _port(folder: Path) -> int:
    try:
        return int(json.loads((folder / "spec.json").read_text())["port"])
    except (OSError, ValueError, KeyError) as error:
        raise SandboxEnded("The preview has ended") from error


def _is_held(folder: Path) -> bool:
    """Return whether a supervisor lives. The kernel frees the lock when it dies."""
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


def _wait_until_free(folder: Path, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while _is_held(folder) and time.monotonic() < deadline:
        time.sleep(0.02)


def _connect(folder: Path, name: str) -> socket.socket:
    """Connect to a socket of the folder. The path of the folder may be longer than a socket address (108 bytes)."""
    descriptor = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(f"/proc/self/fd/{descriptor}/{name}")
    except OSError as error:
        connection.close()
        raise SandboxEnded("The preview has ended") from error
    finally:
        os.close(descriptor)
    return connection
