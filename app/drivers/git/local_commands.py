"""Running the `git` program on one repository: its environment, time limits and failures; knows no subcommand."""

import logging
import os
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from app.drivers.errors import Absent, Broken, Late

log = logging.getLogger(__name__)

READ_BYTES = 1 << 18
GRACE_S = 1.0
# Nothing outside the command line may steer git: no config files, no hooks, no replaced objects, no questions asked.
# `safe.directory` counts only on the command line; the folders belong to whoever deploys the service.
OPTIONS = tuple(
    part
    for setting in (
        "core.hooksPath=/dev/null",
        "safe.directory=*",
        "core.fsync=committed,derived-metadata,reference",
        "core.fsyncMethod=batch",
        "core.filesRefLockTimeout=1000",
        "gc.auto=0",
    )
    for part in ("-c", setting)
)
ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "file",
}


class GitFailed(Broken):
    """A git command ended with an error. What it printed is logged, never shown: it names folders of this machine."""

    def __init__(self, returncode: int) -> None:
        super().__init__("Git could not do this in the local repository")
        self.returncode = returncode


def start(directory: Path, *arguments: str, stdin: int | IO[bytes] = subprocess.PIPE) -> "subprocess.Popen[bytes]":
    """Start git on a bare repository, in a process group of its own and with unbuffered pipes.

    Raises:
        Absent: git is not installed.
    """
    try:
        return subprocess.Popen(
            ["git", f"--git-dir={directory}", *OPTIONS, *arguments],
            bufsize=0,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": os.environ.get("PATH", os.defpath), **ENVIRONMENT},
            start_new_session=True,
        )
    except FileNotFoundError as missing:
        raise Absent("Git is not available on this server", retry_after_s=60) from missing


def run(
    directory: Path,
    *arguments: str,
    timeout_s: float,
    data: bytes = b"",
    stdin: IO[bytes] | None = None,
    accepts: tuple[int, ...] = (0,),
) -> "subprocess.CompletedProcess[bytes]":
    """Run one command to its end, with `data` or the open file `stdin` as its input.

    Raises:
        GitFailed: its return code is not in `accepts`.
        Late: it took longer than `timeout_s` and was killed.
    """
    process = start(directory, *arguments, stdin=stdin or subprocess.PIPE)
    try:
        out, complaint = process.communicate(None if stdin else data, timeout=timeout_s)
    except subprocess.TimeoutExpired as late:
        raise Late("Git did not answer in time") from late
    finally:
        end(process)
    if process.returncode not in accepts:
        raise _failure(arguments, process.returncode, complaint)
    return subprocess.CompletedProcess(arguments, process.returncode, out, complaint)


def stream(directory: Path, *arguments: str, timeout_s: float) -> Iterator[bytes]:
    """Yield a command's output in pieces as it comes; ends with an error unless the command ended well.

    `timeout_s` bounds each wait for git, not the time the reader takes with what it was given.
    """
    process = start(directory, *arguments, stdin=subprocess.DEVNULL)
    complaint = bytearray()
    try:
        yield from _pieces(process, complaint, timeout_s)
        returncode = process.wait(timeout_s)
    except subprocess.TimeoutExpired as late:
        raise Late("Git did not answer in time") from late
    finally:
        end(process)
    if returncode:
        raise _failure(arguments, returncode, bytes(complaint))


def fields(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Cut a stream at its NUL bytes; every field, the last one too, ends with one."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\0")
        yield from whole


def wait_readable(poller: "select.poll", timeout_s: float) -> list[tuple[int, int]]:
    """Wait until one of the registered pipes can be read. Raises Late."""
    ready = poller.poll(timeout_s * 1000)
    if not ready:
        raise Late("Git did not answer in time")
    return ready


def end(process: "subprocess.Popen[bytes]") -> None:
    """End a command with everything it started, and reap it; one that has ended is only reaped."""
    if process.poll() is None:
        _signal(process, signal.SIGTERM)  # git removes its lock files on this one
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            _signal(process, signal.SIGKILL)
            process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()


def _pieces(process: "subprocess.Popen[bytes]", complaint: bytearray, timeout_s: float) -> Iterator[bytes]:
    if process.stdout is None or process.stderr is None:
        raise ValueError("the process has no pipes")
    output, poller = process.stdout.fileno(), select.poll()
    for pipe in (process.stdout, process.stderr):
        poller.register(pipe.fileno(), select.POLLIN)
    while True:
        for descriptor, _ in wait_readable(poller, timeout_s):
            piece = os.read(descriptor, READ_BYTES)
            if descriptor != output:
                complaint += piece[: 4096 - len(complaint)]
            elif piece:
                yield piece
            if not piece:
                poller.unregister(descriptor)
            if not piece and descriptor == output:
                return


def _failure(arguments: tuple[str, ...], returncode: int, complaint: bytes) -> GitFailed:
    log.warning("git %s failed (%d): %s", arguments[0], returncode, complaint[:2000].decode(errors="replace"))
    return GitFailed(returncode)


def _signal(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
