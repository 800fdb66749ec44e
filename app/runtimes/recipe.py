"""Commands that install and serve a site, as plain values for a sandbox host."""

from collections.abc import Mapping
from dataclasses import dataclass, field

PORT, HOST = "{port}", "{host}"
"""Placeholders in commands: port and address on which the server must listen. The environment contains both as well."""


@dataclass(frozen=True)
class Recipe:
    """Installation and server of a site. Commands are argument lists that run in `folder` without a shell.

    The host must provide the programs `tools`. `dependencies` identifies the result of the installation (None: not
    cached), which is stored from `dependency_folder`, by default `node_modules`. `node` and `python` are the ranges of
    versions that the site declares.
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


@dataclass(frozen=True)
class PreviewAddress:
    """Address of the preview in browsers. Generators write it into pages and reload scripts."""

    url: str
    port: int
