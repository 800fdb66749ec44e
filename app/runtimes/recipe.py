"""Commands that install and serve a site, as plain values for a sandbox host."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from app.content.front_matter.toml_reader import read_toml

Read = Callable[[str], bytes | None]
"""Returns the bytes of a file of the site, or None if there is no such file."""

Version = tuple[int, ...]

MAX_MANIFEST_BYTES = 1024 * 1024

URL, BASE = "{url}", "{base}"
"""Placeholders in a build: the address of the published site, and its path without the slash at the end."""

REPEATED_NOTE = "The installation failed. It is repeated once, without the scripts of the packages."
"""Line of the log between the attempts of an installation."""

PORT, HOST = "{port}", "{host}"
"""Placeholders in commands: port and address on which the server must listen. The environment contains both as well."""


@dataclass(frozen=True)
class Recipe:
    """Installation, server and build of a site. Commands are argument lists that run in `folder` without a shell.

    The log shows each command, except a script of several lines, which prints the commands that it runs.

    The host must provide the programs `tools`. `dependencies` identifies the result of the installation (None: not
    cached), which is stored from `dependency_folder`, by default `node_modules`. `node` and `python` are the ranges of
    versions that the site declares. `note` says what the preview can lack because no command of the recipe builds it.

    The commands of `prepare` follow the installation. They run at each start, also with a stored installation.

    `build` writes the pages of the published site to the folder `output` below `folder` (empty: `folder` itself).
    Without `build` the files of `output` are the pages. `output` is None if the site has no static pages.
    """

    serve: tuple[str, ...]
    install: tuple[tuple[str, ...], ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""
    tools: tuple[str, ...] = ()
    dependencies: str | None = None
    dependency_folder: str | None = None
    port: int | None = None
    node: str | None = None
    python: str | None = None
    note: str | None = None
    build: tuple[str, ...] | None = None
    output: str | None = None
    prepare: tuple[tuple[str, ...], ...] = ()

    @property
    def program_folders(self) -> tuple[str, ...]:
        """Folders of programs of npm packages, below the repository: that of the site and that of its workspace."""
        return tuple(dict.fromkeys((f"{self.folder}/node_modules/.bin".strip("/"), "node_modules/.bin")))


@dataclass(frozen=True)
class PreviewAddress:
    """Address of the preview or of the published site. Generators write it into pages and reload scripts."""

    url: str
    port: int

    def filled(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """Return a build with this address."""
        base = urlsplit(self.url).path.rstrip("/")
        return tuple(part.replace(URL, self.url).replace(BASE, base) for part in command)


def mapping(value: object) -> dict[str, object]:
    """Return a value of a configuration file if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def json_of(content: bytes | None) -> dict[str, object]:
    """Return the object of a JSON file, empty for an absent, large or invalid file."""
    if content is None or len(content) > MAX_MANIFEST_BYTES:
        return {}
    try:
        return mapping(json.loads(content))
    except (ValueError, RecursionError):
        return {}


def toml_of(content: bytes | None) -> dict[str, object]:
    """Return the values of a TOML file, empty for an absent, large or invalid file."""
    if content is None or len(content) > MAX_MANIFEST_BYTES:
        return {}
    try:
        return read_toml(content.decode())
    except (ValueError, RecursionError):
        return {}
