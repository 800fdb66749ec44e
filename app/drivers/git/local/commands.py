"""The `git` program run on one repository: its environment, pipes, time limits and failures."""

import errno
import os
import resource
import select
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import structlog

from app.concurrency import child_processes
from app.concurrency.child_processes import ChildProcess, ExitStatusUnknown
from app.core import outbound
from app.drivers.errors import UpstreamError, UpstreamTimeout, UpstreamUnavailable
from app.drivers.git.errors import RepositoryDamaged

log = structlog.get_logger()

MAX_MEMORY_BYTES = 1 << 30
"""Memory of a git process, which stores all differences of two commits. Only Linux limits another process."""

READ_BYTES = 1 << 18
MAX_LOGGED_BYTES = 2000
FULL_DISK = (errno.ENOSPC, errno.EDQUOT)
# The last one is the message for a ref that cannot be written. It does not contain the reason.
FULL_DISK_MESSAGES = ("No space left on device", "Out of diskspace", "Disk quota exceeded", "couldn't write '")
DAMAGED = "An object of the repository is missing or damaged"
DAMAGE_MESSAGES = (
    *(
        "missing object",
        "not a valid object",
        "not a tree object",
        "bad object",
        "bad tree",
        "bad ref",
        "ould not read",
        "unable to read",
    ),
    *(
        "unable to unpack",
        "unable to parse",
        "ould not parse",
        "is corrupt",
        "is empty",
        "could not fetch",
        "unable to stream",
    ),
    *("does not match index", "failed to read object", "failed to load", "inflate: "),
)
# Only the command line configures Git: no configuration files, no hooks, no replacement objects, no prompts.
# `safe.directory` has an effect on the command line only; the folders belong to the user who deploys the service.
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
    # A partial clone must not fetch from its source while a request waits.
    "GIT_NO_LAZY_FETCH": "1",
}


def pipe(stack: ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    """Open a pipe without buffers, closed with the stack. Return its read end and its write end."""
    reading, writing = os.pipe()
    return stack.enter_context(os.fdopen(reading, "rb", 0)), stack.enter_context(os.fdopen(writing, "wb", 0))


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes to a pipe. A write to a full pipe writes a part of them or none."""
    poller = select.poll()
    poller.register(descriptor, select.POLLOUT)
    remaining = memoryview(data)
    while remaining:
        try:
            remaining = remaining[os.write(descriptor, remaining) :]
        except BlockingIOError:
            poller.poll()


def wait_readable(poller: "select.poll", timeout_s: float) -> list[tuple[int, int]]:
    """Wait until one of the registered pipes can be read.

    Raises:
        UpstreamTimeout: no pipe became readable within `timeout_s`.
    """
    ready = poller.poll(timeout_s * 1000)
    if not ready:
        raise UpstreamTimeout("Git did not respond in time")
    return ready


class GitFailed(UpstreamError):
    """A failed git command. Its output is logged and never returned, because it contains paths of this machine."""

    def __init__(self, returncode: int) -> None:
        super().__init__("Git cannot complete this operation on the local repository")
        self.returncode = returncode


class ObjectUnreadable(GitFailed, RepositoryDamaged):
    """A git command that failed because an object is missing or damaged (503)."""

    def __init__(self, returncode: int) -> None:
        super().__init__(returncode)
        self.args = (DAMAGED,)


class GitStatusUnknown(UpstreamError):
    """A git command that ended with an unknown exit status. It may have taken effect."""

    def __init__(self) -> None:
        super().__init__("The result of a Git command is unknown")


class DiskFull(UpstreamUnavailable):
    """A git command that failed because the disk of the repositories is full (503)."""

    def __init__(self) -> None:
        super().__init__("The disk of the repositories is full", retry_after_s=60)


@dataclass(frozen=True)
class Finished:
    """The result of a command that ended."""

    returncode: int
    stdout: bytes
    stderr: bytes


def start(
    directory: Path,
    *arguments: str,
    stdin: int,
    stdout: int,
    stderr: int,
    variables: Mapping[str, str] | None = None,
    prefix: tuple[str, ...] = (),
) -> ChildProcess:
    """Start git on a bare repository, in a separate process group, with these descriptors as its standard streams.

    `variables` replace variables of the environment. `prefix` is a program that starts git.

    Raises:
        UpstreamUnavailable: git is not installed.
    """
    outbound.before_call("git")
    environment = {"PATH": os.environ.get("PATH", os.defpath), **ENVIRONMENT, **(variables or {})}
    command = [*prefix, "git", f"--git-dir={directory}", *OPTIONS, *arguments]
    try:
        process = child_processes.start(command, environment=environment, stdin=stdin, stdout=stdout, stderr=stderr)
    except FileNotFoundError as error:
        raise UpstreamUnavailable("Git is not available on this server", retry_after_s=60) from error
    with suppress(OSError):  # The process has ended.
        if not prefix and hasattr(resource, "prlimit"):
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    return process


def run(
    directory: Path,
    *arguments: str,
    timeout_s: float,
    data: Iterable[bytes] = (),
    accepts: tuple[int, ...] = (0,),
    variables: Mapping[str, str] | None = None,
    watch: Callable[[], None] | None = None,
) -> Finished:
    """Run one command to its end with the parts of `data` as its input.

    `watch` is called twice a second while the command runs. If it raises, the command is killed.

    Input and output are files in memory. A pipe would hold 64 KiB, and each further piece would wake this process.

    Raises:
        GitFailed: the return code is not in `accepts`.
        UpstreamTimeout: the command took longer than `timeout_s` and was killed.
        GitStatusUnknown: the exit status of the command is unknown.
    """
    with input_file(data) as stdin, anonymous_file() as stdout, anonymous_file() as stderr:
        process = start(
            directory,
            *arguments,
            stdin=stdin.fileno(),
            stdout=stdout.fileno(),
            stderr=stderr.fileno(),
            variables=variables,
        )
        try:
            returncode = _wait(process, timeout_s, watch)
        finally:
            process.end()
        output, errors = _content_of(stdout), _content_of(stderr)
    if returncode not in accepts:
        raise command_failure(arguments, returncode, errors)
    return Finished(returncode, output, errors)


def input_file(data: Iterable[bytes]) -> IO[bytes]:
    """Return an anonymous file in memory with the parts of `data`, open at its start."""
    file = anonymous_file()
    file.writelines(data)
    file.seek(0)
    return file


def stream(directory: Path, *arguments: str, timeout_s: float) -> Iterator[bytes]:
    """Yield the output of a command in pieces as they arrive. Raise an error at the end unless the command succeeded.

    `timeout_s` limits each wait for git. The time that the reader takes between two pieces does not count.
    """
    with ExitStack() as pipes:
        output, output_end = pipe(pipes)
        errors, errors_end = pipe(pipes)
        with input_file(()) as stdin, output_end, errors_end:
            process = start(
                directory,
                *arguments,
                stdin=stdin.fileno(),
                stdout=output_end.fileno(),
                stderr=errors_end.fileno(),
            )
        messages = bytearray()
        try:
            yield from _pieces(output.fileno(), errors.fileno(), messages, timeout_s)
            returncode = _wait(process, timeout_s)
        finally:
            process.end()
    if returncode:
        raise command_failure(arguments, returncode, bytes(messages))


def fields(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Split a stream at its NUL bytes. Every field ends with a NUL byte, including the last one.

    A field that is longer than a piece, for example a commit message of megabytes, loses its end.
    """
    incomplete = b""
    for piece in pieces:
        *complete, incomplete = (incomplete + piece).split(b"\0")
        yield from complete
        incomplete = incomplete[:READ_BYTES]


def _wait(process: ChildProcess, timeout_s: float, watch: Callable[[], None] | None = None) -> int:
    try:
        return process.wait(timeout_s) if watch is None else process.wait_watched(timeout_s, watch)
    except TimeoutError as error:
        raise UpstreamTimeout("Git did not respond in time") from error
    except ExitStatusUnknown as error:
        raise GitStatusUnknown from error


def anonymous_file() -> IO[bytes]:
    """Return an empty file in memory that only this process can open."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("git-input", os.MFD_CLOEXEC), "w+b")
    return tempfile.TemporaryFile()


def _content_of(file: IO[bytes]) -> bytes:
    """Return the bytes that a program wrote to the file. The program and this process share its position."""
    file.seek(0)
    return file.read()


def _pieces(output: int, errors: int, messages: bytearray, timeout_s: float) -> Iterator[bytes]:
    poller, remaining = select.poll(), {output, errors}
    for descriptor in remaining:
        poller.register(descriptor, select.POLLIN)
    while remaining:
        for descriptor, _ in wait_readable(poller, timeout_s):
            piece = os.read(descriptor, READ_BYTES)
            if not piece:
                poller.unregister(descriptor)
                remaining.discard(descriptor)
            elif descriptor == output:
                yield piece
            else:
                messages += piece[: MAX_LOGGED_BYTES - len(messages)]


def write_failure(error: OSError) -> DiskFull | UpstreamError:
    """Return the exception for a file of a repository that cannot be written."""
    log.warning("git.file_write_failed", error=str(error))
    if error.errno in FULL_DISK:
        return DiskFull()
    return UpstreamError("The files of the local repository cannot be written")


def command_failure(arguments: tuple[str, ...], returncode: int, errors: bytes) -> GitFailed | DiskFull:
    """Return the exception for a failed command, and log its messages."""
    text = errors[:MAX_LOGGED_BYTES].decode(errors="replace")
    name = next(part for part, before in zip(arguments, ("", *arguments), strict=False) if "-c" not in (part, before))
    log.warning("git.command_failed", command=name, returncode=returncode, error=text)
    if any(message in text for message in FULL_DISK_MESSAGES):
        return DiskFull()
    if any(message in text for message in DAMAGE_MESSAGES):
        return ObjectUnreadable(returncode)
    return GitFailed(returncode)
