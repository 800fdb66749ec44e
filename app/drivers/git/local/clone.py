"""Clones of public repositories by URL, limited in time and size."""

import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

from app.core.addresses import is_public
from app.core.clone_urls import CloneUrl, parse_clone_url
from app.drivers.errors import UpstreamRejected
from app.drivers.git.local.commands import GitFailed, run
from app.drivers.git.local.create import BRANCH, init, new_repository, set_default_branch
from app.drivers.git.local.folders import sizes_of
from app.drivers.git.local.refs import default_branch

MAX_BYTES = 1 << 30
TIMEOUT_S = 600.0
LIST_TIMEOUT_S = 30.0
# A redirect could lead to a private address. Large objects are not expanded in memory.
OPTIONS = (
    "http.followRedirects=false",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=30",
    "core.bigFileThreshold=16m",
    "fetch.unpackLimit=1",
    "pack.threads=1",
)
# Without a home folder, curl reads no password file.
VARIABLES = {"GIT_ALLOW_PROTOCOL": "http:https", "HOME": os.devnull, "GIT_ASKPASS": "false"}


def clone_repository(
    root: Path,
    folder: Path,
    url: str,
    *,
    hosts: Sequence[str],
    watch: Callable[[int], None],
    max_bytes: int = MAX_BYTES,
) -> None:
    """Create the bare repository `folder` with the branches of a URL. It appears complete or not at all.

    The host must have public addresses only, unless the operator lists it in `hosts`. Git connects to the checked
    addresses and follows no redirect.

    Raises:
        RepositoryExists: a repository of this name exists.
        UpstreamRejected: the URL must not be cloned, cannot be read, or has no branch or too many bytes.
        UpstreamTimeout: the clone took too long.
    """
    source = parse_clone_url(url, hosts)
    if source is None:
        raise UpstreamRejected("The URL of a repository starts with https:// and has no password", code="INVALID_URL")
    options = tuple(part for setting in (*OPTIONS, *pinned(source)) for part in ("-c", setting))
    with new_repository(root, folder) as target:
        init(target, BRANCH)
        head = _remote_head(target, options, url)

        def check_size() -> None:
            size = sum(sizes_of(target))
            if size > max_bytes:
                raise UpstreamRejected("The repository is too large to be cloned", code="REPOSITORY_TOO_LARGE")
            watch(size)

        arguments = ("fetch", "--quiet", "--no-tags", "--no-auto-gc", "--no-write-fetch-head", "--", url)
        _run(target, *options, *arguments, "+refs/heads/*:refs/heads/*", timeout_s=TIMEOUT_S, watch=check_size)
        check_size()
        if set_default_branch(target, head) is None:
            raise UpstreamRejected("The repository has no branch", code="REPOSITORY_EMPTY")


def pinned(source: CloneUrl) -> tuple[str, ...]:
    """Return the option that pins the host to its checked addresses.

    Raises:
        UpstreamRejected: the host has no address, or a private one.
    """
    if source.is_listed:
        return ()
    try:
        answers = socket.getaddrinfo(source.host, source.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise _unreadable() from error
    addresses = sorted({str(answer[4][0]) for answer in answers})
    if not addresses or not all(map(is_public, addresses)):
        raise UpstreamRejected("The host of the repository must have a public address", code="INVALID_URL")
    return (f"http.curloptResolve={source.host}:{source.port}:{','.join(addresses)}",)


def _remote_head(target: Path, options: Sequence[str], url: str) -> str:
    """Return the default branch of the source."""
    done = _run(target, *options, "ls-remote", "--symref", "--", url, "HEAD", timeout_s=LIST_TIMEOUT_S)
    for line in os.fsdecode(done).splitlines():
        if line.startswith("ref: refs/heads/") and line.endswith("\tHEAD"):
            return line.removeprefix("ref: refs/heads/").removesuffix("\tHEAD")
    return default_branch(target)


def _run(target: Path, *arguments: str, timeout_s: float, watch: Callable[[], None] | None = None) -> bytes:
    try:
        return run(target, *arguments, timeout_s=timeout_s, variables=VARIABLES, watch=watch).stdout
    except GitFailed as error:
        raise _unreadable() from error


def _unreadable() -> UpstreamRejected:
    return UpstreamRejected("There is no public repository at this URL, or Git finds faults in it", code="CLONE_FAILED")
