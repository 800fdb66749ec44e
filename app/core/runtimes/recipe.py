"""A site's way to a running server, as plain values that a sandbox host carries out."""

from collections.abc import Mapping
from dataclasses import dataclass, field

PORT, HOST = "{port}", "{host}"
"""In a command: the port and the address that the server is to listen on; both also stand in the environment."""


@dataclass(frozen=True)
class Recipe:
    """How a site is installed and served: argument lists run in the site's folder, without a shell.

    `tools` are programs that the host must bring; `dependencies` identifies what the installation makes (None: nothing
    worth keeping).
    """

    serve: tuple[str, ...]
    install: tuple[tuple[str, ...], ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""
    tools: tuple[str, ...] = ()
    dependencies: str | None = None


@dataclass(frozen=True)
class Address:
    """Where browsers will find the preview; generators write it into pages and their reloading scripts."""

    url: str
    port: int
