"""Sandboxes on this machine: each is a folder, a supervisor process and a bubblewrap jail.

The folder below `root` contains all state of a sandbox. Every process of the machine that can read it can query, write,
extend and stop the sandbox. A supervisor holds the lock of its folder as long as it lives.
"""

import base64
import json
import os
import re
import secrets
import signal
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from app.concurrency.threadpool import offload
from app.core.limits import SandboxLimits
from app.drivers.errors import UpstreamRejected
from app.drivers.sandbox.local.confinement import check_confinement, supports_images
from app.drivers.sandbox.local.dependency_cache import DependencyCacheEntry, cache_entry_for, evict_old
from app.drivers.sandbox.local.output import read_output
from app.drivers.sandbox.local.removal import remove_tree
from app.drivers.sandbox.local.site_files import write_site
from app.drivers.sandbox.local.supervisor import disk_image
from app.drivers.sandbox.local.supervisor.bubblewrap import outer_user
from app.drivers.sandbox.local.supervisor.jail_process import started
from app.drivers.sandbox.local.supervisor.log_ring import tail
from app.drivers.sandbox.local.supervisor_client import (
    connect,
    is_supervised,
    port_of_site,
    send_command,
    specification,
    start_supervisor,
    wait_for_end,
)
from app.drivers.sandbox.port import (
    OutputFile,
    OutputLimits,
    Phase,
    SandboxEnded,
    SandboxSpec,
    SandboxStatus,
    SandboxUnavailable,
    SiteFile,
    Upstream,
)
from app.security.private_files import make_private_folder, read_or_create

CACHE = ".kept"
INSTALL_TIMEOUT_S = 600
SERVE_TIMEOUT_S = 180
BUILD_TIMEOUT_S = 600
TAIL_BYTES = 8 * 1024
STOP_TIMEOUT_S = 3
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


class LocalSandboxes:
    """Sandboxes below one folder of this machine.

    `images` decides whether each gets a disk image (None: if possible).
    """

    def __init__(
        self,
        root: Path,
        *,
        egress: Collection[str] = (),
        limits: SandboxLimits | None = None,
        install_timeout_s: float = INSTALL_TIMEOUT_S,
        serve_timeout_s: float = SERVE_TIMEOUT_S,
        build_timeout_s: float = BUILD_TIMEOUT_S,
        images: bool | None = None,
    ) -> None:
        self._root, self._egress, self._limits = root, tuple(egress), limits or SandboxLimits()
        self._install_timeout_s, self._serve_timeout_s = install_timeout_s, serve_timeout_s
        self._build_timeout_s, self._images = build_timeout_s, images

    @property
    def node(self) -> str:
        """Return the name of the folder. Containers that share the folder are one node."""
        return read_or_create(self._root / ".node", lambda: f"local-{secrets.token_hex(8)}")

    def check(self) -> None:
        """Start an empty jail, at most once per minute. Raises SandboxUnavailable."""
        check_confinement()

    def start(self, spec: SandboxSpec, files: Iterable[SiteFile]) -> str:
        """Write the folder, start the supervisor and return the name."""
        check_confinement()
        evict_old(self._root / CACHE)
        folder = self._root / check_name(spec.name)
        make_private_folder(self._root)
        folder.mkdir(mode=0o700)
        with ExitStack() as on_failure:
            on_failure.callback(self.stop, spec.name)
            self._fill(folder, spec, files)
            on_failure.pop_all()
        return spec.name

    def _fill(self, folder: Path, spec: SandboxSpec, files: Iterable[SiteFile]) -> None:
        user = outer_user(spec.name)
        cache = cache_entry_for(self._root / CACHE, spec.owner, spec.recipe)
        image = supports_images(self._root) if self._images is None else self._images
        document = specification(
            folder,
            spec,
            cache,
            user=user,
            image=image,
            egress=self._egress,
            limits=self._limits,
            install_timeout_s=self._install_timeout_s,
            serve_timeout_s=self._serve_timeout_s,
            build_timeout_s=self._build_timeout_s,
        )
        (folder / "spec.json").write_text(json.dumps(document))
        (folder / "disk").mkdir(mode=0o755)
        if image:
            disk_image.create(folder / "disk.img", size_bytes=self._limits.disk_bytes, files=self._limits.files)
        with start_supervisor(folder) as supervisor:
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
        is_alive = is_supervised(folder)
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
        send_command(self._folder(reference), do="write", path=path, content=base64.b64encode(content).decode())

    def extend(self, reference: str, lifetime_s: float) -> None:
        """Change the deadline of the supervisor."""
        send_command(self._folder(reference), do="extend", lifetime_s=lifetime_s)

    def connect(self, reference: str) -> Upstream:
        """Connect to the socket that the guest forwards to the port of the server."""
        folder = self._folder(reference)
        inside = f"localhost:{port_of_site(folder)}"
        return Upstream(connect(folder, "serve.sock"), inside, f"http://{inside}")

    def output(self, reference: str, limits: OutputLimits) -> Iterator[OutputFile]:
        """Read the disk, which is mounted as long as the supervisor runs."""
        folder = self._folder(reference)
        if self.status(reference).phase is not Phase.BUILT:
            raise SandboxEnded("The build has ended")
        spec = json.loads((folder / "spec.json").read_text())
        supervisor = json.loads((folder / "state.json").read_text())["processes"][0][0]
        disk = Path(f"/proc/{supervisor}/root{folder}/disk") if spec["image"] else folder / "disk"
        for file in read_output(disk / "work", spec["output"], limits):
            if not is_supervised(folder):
                raise SandboxEnded("The build has ended")
            yield file

    def stop(self, reference: str) -> None:
        """Send the supervisor the stop command, kill it if it continues, then remove the folder."""
        folder = self._folder(reference)
        with suppress(SandboxEnded, UpstreamRejected, OSError, ValueError):
            send_command(folder, timeout_s=STOP_TIMEOUT_S, do="stop")
        wait_for_end(folder, STOP_TIMEOUT_S)
        end_processes(folder)
        wait_for_end(folder, STOP_TIMEOUT_S)
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


def check_name(name: str) -> str:
    """Return the name of a sandbox. Raises SandboxEnded if it is invalid."""
    if NAME.fullmatch(name) is None:
        raise SandboxEnded("The preview does not exist")
    return name


def make_folder(folder: Path, user: int | None) -> None:
    """Create a folder that belongs to the user of the jail."""
    folder.mkdir(mode=0o755)
    if user is not None:
        os.chown(folder, user, user)


def end_processes(folder: Path) -> None:
    """Kill the processes that the supervisor recorded: the first processes of the jail and the supervisor."""
    try:
        processes = json.loads((folder / "state.json").read_text())["processes"]
    except (OSError, ValueError, KeyError):
        return
    for pid, start_time in processes:
        if start_time and started(pid) == start_time:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
