"""`git http-backend` on a bare repository: its configuration, environment and limits.

It never serves files of the repository (the protocol for static web servers). Only the command line configures it.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from app.concurrency.child_processes import ChildProcess
from app.core.limits import PushLimits
from app.drivers.git.hosts import BackendCall, GitService
from app.drivers.git.local import commands

NICENESS = 5
"""Clones use all cores. Requests of other users have the higher priority, and a transfer keeps a share."""

LIMITED = f'ulimit -d {PushLimits.process_bytes >> 10} && ulimit -t "$0" && exec nice -n {NICENESS} "$@"'
"""The start of git below its limits, which the processes that it starts inherit.

A delta of a small pack can declare an object of many gigabytes. The limit of memory has an effect on Linux only.
"""

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
    """Start `git http-backend` on the repository `folder` below `root`. `stream` is its input and its output."""
    cpu_s = PushLimits.cpu_s if call.service is GitService.RECEIVE else "unlimited"
    return commands.start(
        folder,
        *_options(call),
        "http-backend",
        stdin=stream,
        stdout=stream,
        stderr=errors,
        variables=_variables(root, folder, call),
        prefix=("sh", "-c", LIMITED, str(cpu_s)),
    )


def _options(call: BackendCall) -> Iterator[str]:
    settings = list(SETTINGS)
    if call.service is GitService.RECEIVE:
        settings += [f"receive.maxInputSize={call.max_push_bytes}", f"core.hooksPath={call.hooks or os.devnull}"]
        settings.append("core.deltaBaseCacheLimit=16m")
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
