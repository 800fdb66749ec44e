"""Sandboxes on this machine: each a folder, a supervisor process and a bubblewrap jail. Knows no lease and no project.

The folder below `root` is all there is to know of a sandbox: whoever can read it may look, write, extend and stop,
from any process of the machine. A supervisor holds its folder's lock as long as it lives.
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
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path

from app.core.instance import kept
from app.core.limits import SandboxLimits
from app.core.threadpool import offload
from app.drivers.errors import Rejected
from app.drivers.sandbox.local_folders import check_name, end_processes, lay_out, make_folder, remove
from app.drivers.sandbox.local_kept import forget_old, place_of
from app.drivers.sandbox.local_spec import PORT_INSIDE, specification
from app.drivers.sandbox.local_tools import check_confinement
from app.drivers.sandbox.port import Order, Phase, SandboxGone, SandboxUnavailable, SiteFile, Upstream, View
from app.drivers.sandbox.supervising.jail import outer_user
from app.drivers.sandbox.supervising.logs import tail

APP = Path(__file__).resolve().parents[2]
BOOT = (
    "import sys, types; app = types.ModuleType('app'); app.__path__ = [sys.argv[1]]; sys.modules['app'] = app; "
    "from app.drivers.sandbox.supervising.main import main; main(sys.argv[2])"
)
"""Loads the supervisor without the package's own `__init__`, which would bring all of Flask."""

KEPT = ".kept"
INSTALL_TIMEOUT_S = 300
TAIL_BYTES = 8 * 1024
CONTROL_TIMEOUT_S = 15
STOP_TIMEOUT_S = 3


class LocalSandboxes:
    """Sandboxes below one folder of this machine."""

    def __init__(
        self,
        root: Path,
        *,
        egress: Collection[str] = (),
        limits: SandboxLimits | None = None,
        install_timeout_s: float = INSTALL_TIMEOUT_S,
    ) -> None:
        self._root, self._egress, self._limits = root, tuple(egress), limits or SandboxLimits()
        self._install_timeout_s = install_timeout_s

    @property
    def node(self) -> str:
        """Whoever shares the folder is one node, be it in several containers."""
        return kept(self._root / ".node", lambda: f"local-{secrets.token_hex(8)}")

    def check(self) -> None:
        """Build a jail around nothing, now and then."""
        check_confinement()

    def start(self, order: Order, files: Iterable[SiteFile]) -> str:
        """Lay out the folder, start the supervisor, and return the name."""
        check_confinement()
        forget_old(self._root / KEPT)
        folder = self._root / check_name(order.name)
        user = outer_user(order.name)
        try:
            folder.mkdir(parents=True, mode=0o700)
            lay_out(folder, files, user=user, max_bytes=self._limits.disk_bytes)
            dependencies = place_of(self._root / KEPT, order.owner, order.recipe)
            spec = specification(
                folder,
                order,
                dependencies,
                user=user,
                egress=self._egress,
                limits=self._limits,
                install_timeout_s=self._install_timeout_s,
            )
            (folder / "spec.json").write_text(json.dumps(spec))
            if dependencies is not None and not dependencies.exists:
                make_folder(folder / "deps", user)
            self._supervise(folder)
        except BaseException:
            self.stop(order.name)
            raise
        return order.name

    def look(self, reference: str) -> View:
        """Read what the supervisor last wrote down; without a supervisor only a failure is still to be told."""
        folder = self._folder(reference)
        alive = _is_held(folder)
        try:
            state = json.loads((folder / "state.json").read_text())
        except (OSError, ValueError):
            return View(Phase.INSTALLING if alive else Phase.GONE)
        phase = Phase(state["phase"])
        if phase is not Phase.FAILED and not alive:
            return View(Phase.GONE)
        return View(phase, state["problem"], tail(folder, TAIL_BYTES))

    def write(self, reference: str, path: str, content: bytes) -> None:
        """Hand the file to the guest, who writes it as the site's user."""
        self._control(reference, do="write", path=path, content=base64.b64encode(content).decode())

    def extend(self, reference: str, lifetime_s: float) -> None:
        """Move the supervisor's own deadline."""
        self._control(reference, do="extend", lifetime_s=lifetime_s)

    def connect(self, reference: str) -> Upstream:
        """Connect to the socket that the guest carries to the server's port."""
        folder = self._folder(reference)
        if not _is_held(folder):
            raise SandboxGone("The preview has ended")
        inside = f"localhost:{PORT_INSIDE}"
        return Upstream(_connect(folder, "serve.sock"), inside, f"http://{inside}")

    def stop(self, reference: str) -> None:
        """Ask the supervisor to end; make it, if it does not; then remove the folder."""
        folder = self._folder(reference)
        with suppress(SandboxGone, Rejected, OSError, ValueError):
            self._control(reference, timeout_s=STOP_TIMEOUT_S, do="stop")
        _wait_until_free(folder, STOP_TIMEOUT_S)
        end_processes(folder)
        _wait_until_free(folder, STOP_TIMEOUT_S)
        offload(remove, folder)

    def names(self) -> Mapping[str, str]:
        """The folders there are; a sandbox's reference is its name."""
        try:
            return {entry.name: entry.name for entry in self._root.iterdir() if not entry.name.startswith(".")}
        except FileNotFoundError:
            return {}

    def _folder(self, reference: str) -> Path:
        return self._root / check_name(reference)

    def _supervise(self, folder: Path) -> None:
        command = [sys.executable, "-I", "-S", "-B", "-c", BOOT, str(APP), str(folder)]
        environment = {"PATH": os.environ.get("PATH", os.defpath)}
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        ) as process:
            said = process.stdout.read(1) if process.stdout else b""
        if said != b"+":
            raise SandboxUnavailable("The sandbox's supervisor could not be started")

    def _control(self, reference: str, *, timeout_s: float = CONTROL_TIMEOUT_S, **wanted: object) -> None:
        folder = self._folder(reference)
        if not _is_held(folder):
            raise SandboxGone("The preview has ended")
        with closing(_connect(folder, "control.sock")) as connection:
            connection.settimeout(timeout_s)
            connection.sendall(json.dumps(wanted).encode() + b"\n")
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        if not answer:
            raise SandboxGone("The preview has ended")
        error = json.loads(answer)["error"]
        if error is not None:
            raise Rejected(f"The file could not be written: {error}")


def _is_held(folder: Path) -> bool:
    """Whether a supervisor lives; the kernel frees its lock however it died."""
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


def _wait_until_free(folder: Path, within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while _is_held(folder) and time.monotonic() < deadline:
        time.sleep(0.02)


def _connect(folder: Path, name: str) -> socket.socket:
    """Connect to a socket of the folder, whose path may be longer than the 108 bytes that an address holds."""
    place = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(f"/proc/self/fd/{place}/{name}")
    except OSError as error:
        connection.close()
        raise SandboxGone("The preview has ended") from error
    finally:
        os.close(place)
    return connection
