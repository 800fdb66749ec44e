"""Reader of the section `preview` of `.galley.yml`."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.content.galley_file import FILES, InvalidGalleyFile, read_galley_file
from app.core.paths import path_error
from app.runtimes.recipe import Read

MAX_COMMANDS, MAX_ARGUMENTS, MAX_VARIABLES = 10, 100, 50
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
KEYS = ("root", "install", "command", "port", "env", "build", "output")


class InvalidPreviewOptions(Exception):
    """The section `preview` is invalid. The message names the key."""


@dataclass(frozen=True)
class PreviewOptions:
    """Values of the section. None means that the value is detected."""

    root: str | None = None
    install: tuple[tuple[str, ...], ...] | None = None
    command: tuple[str, ...] | None = None
    port: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    build: tuple[str, ...] | None = None
    output: str | None = None


def read_options(read: Read) -> PreviewOptions:
    """Return the options of a repository.

    Raises:
        InvalidPreviewOptions: the file or the section is invalid.
    """
    data = next((data for data in map(read, FILES) if data is not None), None)
    if data is None:
        return PreviewOptions()
    section = _section(data)
    unknown = [str(key) for key in section if key not in KEYS]
    if unknown:
        raise InvalidPreviewOptions(f"preview.{unknown[0]} in .galley.yml is unknown; known are {', '.join(KEYS)}")
    return PreviewOptions(
        root=_folder("root", section.get("root"), "a folder of the repository"),
        install=_commands(section.get("install")),
        command=_optional_command("command", section.get("command")),
        port=_port(section.get("port")),
        env=_environment(section.get("env")),
        build=_optional_command("build", section.get("build")),
        output=_folder("output", section.get("output"), "a folder below the folder of the site"),
    )


def _section(data: bytes) -> Mapping[object, object]:
    try:
        section = read_galley_file(data).get("preview")
    except InvalidGalleyFile as error:
        raise InvalidPreviewOptions(str(error)) from error
    if section is None:
        return {}
    if not isinstance(section, dict):
        raise InvalidPreviewOptions("preview in .galley.yml must be a mapping")
    return section


def _folder(key: str, value: object, expected: str) -> str | None:
    if value is None:
        return None
    folder = value.strip("/").removeprefix("./") if isinstance(value, str) else None
    if folder is None or (folder not in ("", ".") and path_error(folder) is not None):
        raise InvalidPreviewOptions(f"preview.{key} in .galley.yml must be {expected}")
    return "" if folder == "." else folder


def _commands(value: object) -> tuple[tuple[str, ...], ...] | None:
    if value is None:
        return None
    commands = value if isinstance(value, list) and not _is_arguments(value) else [value]
    if len(commands) > MAX_COMMANDS:
        raise InvalidPreviewOptions(f"preview.install in .galley.yml must have at most {MAX_COMMANDS} commands")
    return tuple(_command("install", command) for command in commands if command)


def _is_arguments(value: list[object]) -> bool:
    """Return whether a list is one command. Its arguments contain no spaces; a list of commands usually does."""
    return bool(value) and all(isinstance(part, str) and " " not in part for part in value) and len(value) > 1


def _optional_command(key: str, value: object) -> tuple[str, ...] | None:
    return None if value is None else _command(key, value)


def _command(key: str, value: object) -> tuple[str, ...]:
    try:
        parts = shlex.split(value) if isinstance(value, str) else value
    except ValueError as error:
        raise InvalidPreviewOptions(f"preview.{key} in .galley.yml has an unclosed quotation mark") from error
    if not isinstance(parts, list) or not parts or len(parts) > MAX_ARGUMENTS:
        raise InvalidPreviewOptions(f"preview.{key} in .galley.yml must be a command")
    if any(not isinstance(part, str | int | float) or "\0" in str(part) for part in parts):
        raise InvalidPreviewOptions(f"preview.{key} in .galley.yml must contain texts only")
    return tuple(str(part) for part in parts)


def _port(value: object) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not 1024 <= value <= 65_535):
        raise InvalidPreviewOptions("preview.port in .galley.yml must be a number from 1024 to 65535")
    return value


def _environment(value: object) -> Mapping[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or len(value) > MAX_VARIABLES:
        raise InvalidPreviewOptions(f"preview.env in .galley.yml must have at most {MAX_VARIABLES} variables")
    for name, text in value.items():
        if not isinstance(name, str) or not VARIABLE.fullmatch(name) or not isinstance(text, str | int | float):
            raise InvalidPreviewOptions("preview.env in .galley.yml must map names to texts")
    return {name: str(text) for name, text in value.items() if "\0" not in str(text)}
