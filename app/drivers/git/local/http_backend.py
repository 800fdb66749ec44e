"""`git http-backend` on a bare repository: its configuration, environment and limits.

It never serves files of the repository (the protocol for static web servers). Only the command line configures it.
"""

import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from app.concurrency.child_processes import ChildProcess
from app.drivers.git.hosts import BackendCall, GitService
from app.drivers.git.local import commands

MAX_MEMORY_BYTES = 2 << 30
"""Memory of one git process. A delta of a small pack can declare an object of many gigabytes."""

NICENESS = 5
"""Clones use all cores. Requests of other users have the higher priority."""

# `git fsck` reports these faults in old repositories. They are harmless.
IGNORED_FAULTS = ("zeroPaddedFilemode", "badTimezone", "missingSpaceBeforeDate")
SETTINGS = (
    "http.getanyfile=false",
    "http.uploadpack=true",
    "http.receivepack=true",
    "uploadpack.allowFilter=true",
    "receive.advertisePushOptions=true",
    "receive.autogc=false",
    "transfer.fsckObjects=true",
    *(f"receive.fsck.{fault}=ignore" for fault in IGNORED_FAULTS),
    "pack.threads=1",
    "pack.windowMemory=64m",
    "pack.deltaCacheSize=64m",
    # Images and other media are compressed already: the search for deltas of large files takes most of a clone.
    "core.bigFileThreshold=1m",
    "pack.compression=1",
)


def start_backend(root: Path, folder: Path, call: BackendCall, *, stream: int, errors: int) -> ChildProcess:
    """Start `git http-backend` on the repository `folder` below `root`. `stream` is its input and its output.

    Raises:
        UpstreamUnavailable: git is not installed.
    """
    process = commands.start(
        folder,
        *_options(call),
        "http-backend",
        stdin=stream,
        stdout=stream,
        stderr=errors,
        variables=_variables(root, folder, call),
    )
    _limit_resources(process)
    return process


def _options(call: BackendCall) -> Iterator[str]:
    settings = list(SETTINGS)
    if call.service is GitService.RECEIVE:
        settings += [f"receive.maxInputSize={call.max_push_bytes}", f"core.hooksPath={call.hooks or os.devnull}"]
    for setting in settings:
        yield from ("-c", setting)


def _variables(root: Path, folder: Path, call: BackendCall) -> dict[str, str]:
    """Return the CGI variables. No text of the client is among them except the checked version of the protocol."""
    path = "info/refs" if call.is_advertisement else call.service
    variables = {
        "GIT_PROJECT_ROOT": str(root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{folder.relative_to(root).as_posix()}/{path}",
        "REQUEST_METHOD": "GET" if call.is_advertisement else "POST",
        **call.variables,
    }
    if call.is_advertisement:
        variables["QUERY_STRING"] = f"service={call.service}"
    else:
        variables["CONTENT_TYPE"] = f"application/x-{call.service}-request"
    if call.protocol is not None:
        variables["GIT_PROTOCOL"] = call.protocol
    return variables


def _limit_resources(process: ChildProcess) -> None:
    """Limit the priority and the memory of a process and of those that it starts.

    Only Linux supports a limit of memory for another process.
    """
    with suppress(OSError):  # The process has ended.
        os.setpriority(os.PRIO_PROCESS, process.pid, NICENESS)
        if hasattr(resource, "prlimit"):
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
