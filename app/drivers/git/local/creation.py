"""Operations on whole repositories on this machine: creation, clone, facts, packing."""

import os
import socket
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from app.core.addresses import is_public
from app.core.clone_urls import CloneUrl, parse_clone_url
from app.drivers.errors import UpstreamRejected
from app.drivers.git.local import unclaimed
from app.drivers.git.local.bundles import LocalBundles
from app.drivers.git.local.commands import GitFailed, run
from app.drivers.git.local.create import (
    BRANCH,
    create_repository,
    init,
    new_repository,
    require_object_checks,
    set_default_branch,
)
from app.drivers.git.local.folders import folder_of, sizes_of
from app.drivers.git.local.packing import PACK_TIMEOUT_S, needs_packing, pack
from app.drivers.git.local.refs import default_branch, list_branches
from app.drivers.git.local.repositories import LocalRepositories
from app.drivers.git.port import Person, RepoRef, Repository


class LocalCreation(LocalRepositories):
    """Creation, facts and packing of repositories."""

    _bot: Person
    _clone_hosts: tuple[str, ...]

    bundles: LocalBundles

    def create(self, name: str, *, source: Path | None = None, is_claimed: bool = True) -> Repository:
        """Create a bare repository, empty (HEAD at `main`, no commit) or from a folder or repository on this machine.

        `remove_unclaimed` removes the repository after an hour if it has no owner then, unless `is_claimed`.

        Raises:
            RepositoryExists: a repository of this name exists.
            UpstreamRejected: the name or the source cannot be used.
        """
        create_repository(self._root, self._new_folder(name), source=source, bot=self._bot, is_claimed=is_claimed)
        return self.repository(RepoRef(name))

    def renew(self, name: str) -> Repository:
        """Return an existing repository. One without an owner stays for another hour."""
        unclaimed.renew(self._folder(RepoRef(name)))
        return self.repository(RepoRef(name))

    def remove(self, name: str) -> None:
        """Remove a repository with its files. Nothing happens if it does not exist."""
        unclaimed.remove(self._root, self._new_folder(name))

    def remove_unclaimed(self, *, is_owned: Callable[[str], bool]) -> list[str]:
        """Remove the repositories of failed requests, which have no owner. Return their names."""
        removed = []
        for name in list(self.bundles.names()):
            folder = self._new_folder(name)
            if unclaimed.is_old(folder) and unclaimed.settle(self._root, folder, is_owned=partial(is_owned, name)):
                removed.append(name)
        return removed

    def clone(self, name: str, url: str, *, watch: Callable[[int], None]) -> Repository:
        """Create a bare repository with the branches of a public repository. `watch` receives the received bytes.

        Raises:
            RepositoryExists: a repository of this name exists.
            UpstreamRejected: the URL cannot be used, or its repository is too large.
            UpstreamTimeout: the clone took too long.
        """
        folder = self._new_folder(name)
        clone_repository(self._root, folder, url, hosts=self._clone_hosts, watch=watch)
        return self.repository(RepoRef(name))

    def repository(self, repo: RepoRef) -> Repository:
        """Read the repository. Its id is its name, its date that of the newest commit of all branches."""
        folder = self._folder(repo)
        command = (
            "for-each-ref",
            "--sort=-committerdate",
            "--count=1",
            "--format=%(committerdate:unix)",
            "refs/heads/",
        )
        newest = run(folder, *command, timeout_s=self._timeout_s).stdout.strip()
        updated_at = datetime.fromtimestamp(int(newest), UTC) if newest else None
        return Repository(repo.name, repo.name, default_branch(folder), True, None, updated_at)

    def needs_packing(self, repo: RepoRef, *, factor: int = 1) -> bool:
        """Return whether the repository has `factor` times as many loose objects or packs as are tolerated."""
        return needs_packing(self._folder(repo), factor=factor)

    def unreadable_branches(self, repo: RepoRef) -> list[str]:
        """Return the branches whose commit or tree is missing or damaged."""
        folder = self._folder(repo)
        branches = list_branches(folder, timeout_s=self._timeout_s)
        trees = self._objects.check(folder, [f"{branch.sha}^{{tree}}" for branch in branches])
        return [branch.name for branch, tree in zip(branches, trees, strict=True) if tree is None]

    def repack(self, repo: RepoRef, *, timeout_s: float = PACK_TIMEOUT_S) -> bool:
        """Pack the repository. Return False if another process of the service packs it."""
        require_object_checks(self._folder(repo))
        return pack(self._folder(repo), timeout_s=timeout_s)

    def _new_folder(self, name: str) -> Path:
        folder = folder_of(self._root, name)
        if folder is None:
            raise UpstreamRejected(
                "The repository name must have the form owner/name with letters, digits, “.”, “_” and “-” only",
                code="INVALID_NAME",
            )
        return folder


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
