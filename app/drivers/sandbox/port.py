"""What Galley asks of whoever runs preview sandboxes; knows no project, no lease and no person.

Every implementation passes `tests/drivers/sandbox/contract.py`. A sandbox is known by the name its caller gave it,
or by the reference the host answered with; stopping what is gone is no error.
"""

import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol

from app.core.runtimes.recipe import Recipe
from app.drivers.errors import Absent, DriverError


class SandboxUnavailable(Absent):
    """This node can run no sandbox (503 `SANDBOX_UNAVAILABLE`); nothing is ever run unconfined instead."""

    def __init__(self, message: str) -> None:
        super().__init__(message, retry_after_s=60, code="SANDBOX_UNAVAILABLE")


class SandboxGone(DriverError):
    """There is no such sandbox, or it has ended."""


class Phase(StrEnum):
    """How far a sandbox is; `FAILED` keeps its log until it is stopped, `GONE` has nothing left."""

    INSTALLING = "installing"
    STARTING = "starting"
    WAITING = "waiting"
    READY = "ready"
    FAILED = "failed"
    GONE = "gone"


@dataclass(frozen=True)
class View:
    """A sandbox as it is now; `problem` says why it failed, `log` is the end of what its processes printed."""

    phase: Phase
    problem: str | None = None
    log: str = ""


class SiteFile(NamedTuple):
    """One file of the site; of a symbolic link `content` is the target."""

    path: str
    mode: str
    content: bytes


SYMLINK, EXECUTABLE = "120000", "100755"


@dataclass(frozen=True)
class Order:
    """A sandbox that is wanted: `name` is a host name's label and unguessable; `owner` shares kept dependencies."""

    name: str
    owner: str
    recipe: Recipe
    lifetime_s: float


@dataclass(frozen=True)
class Upstream:
    """An open connection to the server inside, and what a request on it must say.

    `host` is whom the connection asks for, `origin` where the server itself believes to be.
    """

    connection: socket.socket
    host: str
    origin: str
    headers: Mapping[str, str] = field(default_factory=dict)


class SandboxHost(Protocol):
    """Runs sandboxes. Safe to share between greenlets and between processes of one node."""

    @property
    def node(self) -> str:
        """Whose sandboxes `names` tells; a hosted service is one node for all."""

    def check(self) -> None:
        """Make sure that sandboxes can be run. Raises SandboxUnavailable."""

    def start(self, order: Order, files: Iterable[SiteFile]) -> str:
        """Confine and start a site; returns its reference at once, `look` tells how far it is.

        Raises:
            SandboxUnavailable: nothing can be confined here.
            Rejected: the site is larger than a sandbox.
        """

    def look(self, reference: str) -> View:
        """Tell how far a sandbox is."""

    def write(self, reference: str, path: str, content: bytes) -> None:
        """Write one file of the site, as the site's own processes would. Raises SandboxGone, Rejected."""

    def extend(self, reference: str, lifetime_s: float) -> None:
        """Let it live that long from now. Raises SandboxGone."""

    def connect(self, reference: str) -> Upstream:
        """Connect to the server inside. Raises SandboxGone."""

    def stop(self, reference: str) -> None:
        """End every process of it and remove what it left; nothing is left when this returns."""

    def names(self) -> Mapping[str, str]:
        """The references of all that this node holds, dead ones included, each with the name its caller gave it."""
