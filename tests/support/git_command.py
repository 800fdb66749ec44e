"""Git commands of the tests, started like those of the service: a fork of a large test process is slow."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, NamedTuple

from app.concurrency import child_processes

INHERITED = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
ENVIRONMENT = INHERITED | {"GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C.UTF-8", "GIT_LITERAL_PATHSPECS": "1"}


class Finished(NamedTuple):
    """The result of a command that ended."""

    returncode: int
    stdout: bytes
    stderr: bytes


def run_git(folder: Path, *arguments: str, data: bytes = b"", environment: Mapping[str, str] | None = None) -> Finished:
    """Run git in a folder, with `data` as its input and no configuration of the user."""
    with _memory_file(data) as stdin, _memory_file() as stdout, _memory_file() as stderr:
        process = child_processes.start(
            ["git", "-C", str(folder), *arguments],
            environment=ENVIRONMENT | (environment or {}),
            stdin=stdin.fileno(),
            stdout=stdout.fileno(),
            stderr=stderr.fileno(),
        )
        returncode = process.wait()
        return Finished(returncode, _content_of(stdout), _content_of(stderr))


def _memory_file(data: bytes = b"") -> IO[bytes]:
    file = os.fdopen(os.memfd_create("git", os.MFD_CLOEXEC), "w+b", 0)
    file.write(data)
    file.seek(0)
    return file


def _content_of(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
