"""Interface of sandbox hosts. A host knows no project, no lease and no user.

Every implementation passes `tests/drivers/sandbox/contract.py`. A sandbox has the name that its caller chose and the
reference that the host returned. Stopping a sandbox that does not exist is not an error.
"""

import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import IO, NamedTuple, Protocol

from app.drivers.errors import DriverError, UpstreamUnavailable
from app.runtimes.recipe import Recipe

SYMLINK, EXECUTABLE = "120000", "100755"


class SandboxUnavailable(UpstreamUnavailable):
    """The node cannot run sandboxes (503 `SANDBOX_UNAVAILABLE`). A site never runs without confinement."""

    def __init__(self, message: str) -> None:
        super().__init__(message, retry_after_s=60, code="SANDBOX_UNAVAILABLE")


class SandboxEnded(DriverError):
    """The sandbox does not exist or has ended."""


class Phase(StrEnum):
    """Progress of a sandbox. A failed one keeps its log until it is stopped, a built one its output."""

    INSTALLING = "installing"
    STARTING = "starting"
    WAITING = "waiting"
    READY = "ready"
    BUILDING = "building"
    BUILT = "built"
    FAILED = "failed"
    ENDED = "gone"


@dataclass(frozen=True)
class SandboxStatus:
    """Current state of a sandbox.

    `log` is the end of the output. A failed sandbox has the `problem`, the phase `step` in which it failed, a `cause`
    (`memory`, `disk`, `files`, `missing_program`, `install_timeout`, `build_timeout`, `port`, `response`, `ended`), the
    hosts that the egress list refused, and the permitted hosts to which the node could not connect.
    """

    phase: Phase
    problem: str | None = None
    log: str = ""
    step: Phase | None = None
    cause: str | None = None
    refused_hosts: tuple[str, ...] = ()
    unreachable_hosts: tuple[str, ...] = ()


class SiteFile(NamedTuple):
    """One file of the site. The content of a symbolic link is its target."""

    path: str
    mode: str
    content: bytes


class OutputFile(NamedTuple):
    """One regular file of the output of a build. The stream can be read until the next file is requested."""

    path: str
    size: int
    stream: IO[bytes]


@dataclass(frozen=True)
class OutputLimits:
    """Largest output of a build. Its sizes are known before a file is read."""

    files: int
    size_bytes: int


@dataclass(frozen=True)
class SandboxSpec:
    """A sandbox to start. `name` is unique; sandboxes of one `owner` share cached dependencies.

    `network` permits connections to public addresses while the site is served. With `builds`, the sandbox runs the
    build of the recipe instead of its server, without a network, and ends in the phase `built`.
    """

    name: str
    owner: str
    recipe: Recipe
    lifetime_s: float
    network: bool = False
    builds: bool = False

    @property
    def command(self) -> tuple[str, ...]:
        """Return the command that follows the installation. Generators build for production, without a port."""
        if not self.builds:
            return self.recipe.serve
        if self.recipe.build is None:
            return ("true",)
        return ("env", "-u", "PORT", "-u", "HOST", "NODE_ENV=production", *self.recipe.build)

    @property
    def output(self) -> str:
        """Return the folder of the output of a build, below the folder of the site."""
        return "/".join(filter(None, (self.recipe.folder, self.recipe.output)))


@dataclass(frozen=True)
class Upstream:
    """An open connection to the server of a sandbox, with the headers that requests need.

    `host` is the value of the Host header, `origin` the origin under which the server sees itself.
    """

    connection: socket.socket
    host: str
    origin: str
    headers: Mapping[str, str] = field(default_factory=dict)


class SandboxHost(Protocol):
    """Host that runs sandboxes. Safe to share between greenlets and between processes of one node."""

    @property
    def node(self) -> str:
        """Return the name of the node whose sandboxes `list_sandboxes` returns. A hosted service is one node."""

    def check(self) -> None:
        """Check that sandboxes can run. Raises SandboxUnavailable."""

    def start(self, spec: SandboxSpec, files: Iterable[SiteFile]) -> str:
        """Start a sandbox and return its reference at once. `status` reports the progress.

        Raises:
            SandboxUnavailable: the node cannot confine the site.
            UpstreamRejected: the site is larger than a sandbox or contains an invalid entry.
        """

    def status(self, reference: str) -> SandboxStatus:
        """Return the current state of a sandbox."""

    def read_log(self, reference: str) -> str:
        """Return the stored output of a sandbox, or an empty string."""

    def write(self, reference: str, path: str, content: bytes) -> None:
        """Write one file with the rights of the site. Raises SandboxEnded, UpstreamRejected."""

    def extend(self, reference: str, lifetime_s: float) -> None:
        """Set the remaining lifetime. Raises SandboxEnded."""

    def connect(self, reference: str) -> Upstream:
        """Connect to the server of the site. Raises SandboxEnded."""

    def output(self, reference: str, limits: OutputLimits) -> Iterator[OutputFile]:
        """Yield the regular files of a finished build by path.

        Symbolic links, invalid names and files that their owner may not read are left out.

        Raises:
            SandboxEnded: the sandbox is not in the phase `built`, or has ended since then.
            UpstreamRejected: there is no output folder, or the output exceeds the limits. No file was read then.
        """

    def stop(self, reference: str) -> None:
        """End all processes of a sandbox and remove its files before returning.

        Raises:
            SandboxUnavailable: the files could not be removed.
        """

    def list_sandboxes(self) -> Mapping[str, str]:
        """Return the names of all sandboxes of this node by reference, including ended ones."""
