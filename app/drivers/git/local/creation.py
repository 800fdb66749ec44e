"""Operations on whole repositories on this machine: creation, clone, bundles.

A repository that was created for a request whose project is not stored yet contains a marker file. Without its project,
a job removes it after an hour, because the process of the request may have been killed.
"""

import hashlib
import os
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from app.core.errors import ErrorMessage
from app.core.paths import path_error
from app.core.refs import FIRST_MESSAGE
from app.core.urls import CloneUrl, is_public, parse_clone_url
from app.drivers.errors import UpstreamRejected
from app.drivers.git.commit_plan import EXECUTABLE, PLAIN, SYMLINK, CommitPlan, FileWrite
from app.drivers.git.errors import RepositoryExists
from app.drivers.git.local.commands import GitFailed, run
from app.drivers.git.local.locks import exclusive
from app.drivers.git.local.new_commit import CommitIdentity, create_commit
from app.drivers.git.local.refs import default_branch, list_branches
from app.drivers.git.local.repositories import (
    folder_of,
    foreign_storage,
    is_bare_repository,
    sizes_of,
)
from app.drivers.git.port import BundleInfo, Person

MARKER = "galley-unclaimed"
UNCLAIMED_S = 3_600.0
BRANCH = "main"
TIMEOUT_S = 600.0
SCAFFOLD_S = 3600.0
# Checks of received objects. The ignored faults are harmless and common in old repositories.
IGNORED_FAULTS = "\tzeroPaddedFilemode = ignore\n\tbadTimezone = ignore\n\tmissingSpaceBeforeDate = ignore\n"
OBJECT_CHECKS = f'[transfer]\n\tfsckObjects = true\n[fetch "fsck"]\n{IGNORED_FAULTS}[receive "fsck"]\n{IGNORED_FAULTS}'
MAX_BYTES = 1 << 30
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


def mark(folder: Path) -> None:
    """Mark a new repository, which is not visible yet."""
    (folder / MARKER).touch()


def renew(folder: Path) -> None:
    """Renew the marker of a repository, so that it stays for another hour."""
    with exclusive(folder), suppress(FileNotFoundError):
        os.utime(folder / MARKER)


def settle(root: Path, folder: Path, *, is_owned: Callable[[], bool]) -> bool:
    """Remove the marker of a repository with an owner, or the repository. Return whether it was removed."""
    with exclusive(folder) as is_locked:
        if not is_locked or not is_old(folder):
            return False
        if is_owned():
            (folder / MARKER).unlink(missing_ok=True)
            return False
        remove(root, folder)
    return True


def remove(root: Path, folder: Path) -> None:
    """Remove a repository. It disappears at once; a killed process leaves its files to the next creation."""
    target = root / ".new" / secrets.token_hex(8)
    target.parent.mkdir(exist_ok=True)
    with suppress(FileNotFoundError):
        folder.rename(target)
        shutil.rmtree(target, ignore_errors=True)


def is_old(folder: Path) -> bool:
    """Return whether a repository has a marker that is older than an hour."""
    with suppress(FileNotFoundError):
        return (folder / MARKER).stat().st_mtime < time.time() - UNCLAIMED_S
    return False


def create_repository(root: Path, folder: Path, *, source: Path | None, bot: Person, is_claimed: bool = True) -> None:
    """Create the bare repository `folder`. It appears complete or not at all.

    Without a source it has no commit. A source repository provides its branches, another folder its files.

    Raises:
        RepositoryExists: a repository of this name exists.
        UpstreamRejected: the source cannot be read or contains a path that the service does not support.
    """
    with new_repository(root, folder) as target:
        init(target, BRANCH)
        if not is_claimed:
            mark(target)
        if source is not None:
            _fill(target, source.resolve(), bot)


def init(folder: Path, branch: str) -> None:
    """Create an empty bare repository that checks every object it receives."""
    run(folder, "init", "--quiet", "--bare", f"--initial-branch={branch}", "--template=", timeout_s=TIMEOUT_S)
    require_object_checks(folder)


def require_object_checks(folder: Path) -> None:
    """Make a repository refuse malformed objects of pushes and fetches (`transfer.fsckObjects`). Idempotent."""
    config = folder / "config"
    if OBJECT_CHECKS not in config.read_text(encoding="utf-8", errors="replace"):
        with config.open("a", encoding="utf-8") as file:
            file.write(f"\n{OBJECT_CHECKS}")


def _fill(target: Path, source: Path, bot: Person) -> None:
    if not source.is_dir():
        raise UpstreamRejected("The source is not a folder")
    inner = source / ".git"
    if inner.exists() or inner.is_symlink() or is_bare_repository(source):
        _fetch(target, source, inner if inner.exists() or inner.is_symlink() else source)
    else:
        plan = CommitPlan((), tuple(_write(source, path) for path in _files(source)))
        created = create_commit(target, plan, FIRST_MESSAGE, CommitIdentity(bot, bot), parents=None)
        run(target, "update-ref", f"refs/heads/{BRANCH}", created.sha, timeout_s=TIMEOUT_S)


def _fetch(target: Path, source: Path, inner: Path) -> None:
    if (fault := foreign_storage(inner)) is not None:
        raise UpstreamRejected(f"The source repository cannot be imported: {fault}", code="UNSAFE_REPOSITORY")
    options = ("--quiet", "--no-tags", "--no-auto-gc", "--no-write-fetch-head")
    try:
        run(target, "fetch", *options, "--", str(source), "+refs/heads/*:refs/heads/*", timeout_s=TIMEOUT_S)
    except GitFailed as error:
        raise UpstreamRejected(
            "The source repository cannot be read, or `git fsck --strict` finds faults in it", code="INVALID_REPOSITORY"
        ) from error
    set_default_branch(target, default_branch(inner))


def set_default_branch(target: Path, default: str) -> str | None:
    """Set HEAD to `default`, else to `main`, else to the first branch. Return None in a repository without branches."""
    names = [branch.name for branch in list_branches(target, timeout_s=TIMEOUT_S)]
    candidates = [name for name in (default, BRANCH, *names) if name in names]
    if not candidates:
        return None
    run(target, "symbolic-ref", "HEAD", f"refs/heads/{candidates[0]}", timeout_s=TIMEOUT_S)
    return candidates[0]


def _files(source: Path) -> Iterator[Path]:
    """Yield every file and symbolic link below a folder."""
    for parent, folders, names in os.walk(source):
        links = [name for name in folders if Path(parent, name).is_symlink()]
        folders[:] = sorted(name for name in folders if name not in links)
        yield from (Path(parent, name) for name in sorted([*names, *links]))


def _write(source: Path, file: Path) -> FileWrite:
    path = file.relative_to(source).as_posix()
    if fault := path_error(path):
        raise UpstreamRejected(f"{path!a}: {fault}", code="INVALID_PATH")
    if file.is_symlink():
        return FileWrite(path, SYMLINK, os.fsencode(file.readlink()))
    if not file.is_file():
        raise UpstreamRejected(f"{path!a}: it is neither a file nor a link", code="INVALID_PATH")
    return FileWrite(path, EXECUTABLE if os.access(file, os.X_OK) else PLAIN, file.read_bytes())


@contextmanager
def new_repository(root: Path, folder: Path) -> Iterator[Path]:
    """Provide an empty folder that is renamed to `folder` at the end. Raises RepositoryExists."""
    if folder.exists():
        raise RepositoryExists("A repository of that name already exists")
    with _scaffold(root) as target:
        yield target
        _publish(target, folder)


@contextmanager
def _scaffold(root: Path) -> Iterator[Path]:
    """Provide a temporary folder on the file system of the repositories."""
    parent = root / ".new"
    parent.mkdir(parents=True, exist_ok=True)
    for stale in parent.iterdir():
        # Another request renames or removes its folder at any time.
        with suppress(FileNotFoundError):
            if stale.stat().st_mtime < time.time() - SCAFFOLD_S:
                shutil.rmtree(stale, ignore_errors=True)
    target = parent / secrets.token_hex(8)
    target.mkdir()
    try:
        yield target
    finally:
        shutil.rmtree(target, ignore_errors=True)


def _publish(target: Path, folder: Path) -> None:
    folder.parent.mkdir(exist_ok=True)
    try:
        target.rename(folder)
    except OSError as error:
        if folder.exists():
            raise RepositoryExists("A repository of that name already exists") from error
        raise
    descriptor = os.open(folder.parent, os.O_RDONLY)
    with suppress(OSError):
        os.fsync(descriptor)
    os.close(descriptor)


class LocalBundles:
    """The bundles of the repositories below a resolved root."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def names(self) -> Iterator[str]:
        """Yield the names of all repositories below the root."""
        for owner in sorted(self._root.iterdir()):
            for folder in sorted(owner.iterdir()) if owner.is_dir() else ():
                name = f"{owner.name}/{folder.name.removesuffix('.git')}"
                if folder.suffix == ".git" and folder_of(self._root, name) == folder and is_bare_repository(folder):
                    yield name

    def described(self, name: str) -> BundleInfo | None:
        """Read HEAD and the refs."""
        folder = folder_of(self._root, name)
        return _described(folder) if folder is not None and is_bare_repository(folder) else None

    def write(self, name: str, file: Path) -> BundleInfo:
        """Bundle all refs. The hash covers the refs of the bundle.

        Git omits a ref that moves while it writes a bundle. It reads the refs from a copy, which no save changes.
        """
        folder = new_folder(self._root, name)
        head, refs = default_branch(folder), _refs_of(folder)
        if refs:
            with _scaffold(self._root) as copy:
                init(copy, head)
                (copy / "objects/info").mkdir(exist_ok=True)
                (copy / "objects/info/alternates").write_bytes(os.fsencode(folder.absolute() / "objects") + b"\n")
                (copy / "packed-refs").write_bytes(os.fsencode("".join(f"{line}\n" for line in refs)))
                run(copy, "bundle", "create", "--quiet", str(file.absolute()), "--all", timeout_s=TIMEOUT_S)
        return _bundled(head, refs)

    def read(self, name: str, file: Path | None, head: str) -> BundleInfo:
        """Fetch from the bundle into a temporary folder and rename it."""
        with new_repository(self._root, new_folder(self._root, name)) as target:
            init(target, head)
            if file is not None:
                _fetch_clone(target, str(file.absolute()))
            return _described(target)


def _fetch_clone(target: Path, bundle: str) -> None:
    checked = run(target, "bundle", "verify", "--quiet", bundle, timeout_s=TIMEOUT_S, accepts=(0, 1, 128))
    if checked.returncode:
        raise UpstreamRejected("The bundle of a repository cannot be read", code="INVALID_BUNDLE")
    # A backup restores what the service has stored, including objects that are older than the checks.
    unchecked = ("-c", "transfer.fsckObjects=false")
    options = ("--quiet", "--no-tags", "--no-auto-gc", "--no-write-fetch-head")
    run(target, *unchecked, "fetch", *options, "--", bundle, "+refs/*:refs/*", timeout_s=TIMEOUT_S)


def _described(folder: Path) -> BundleInfo:
    return _bundled(default_branch(folder), _refs_of(folder))


def _refs_of(folder: Path) -> list[str]:
    listed = run(folder, "for-each-ref", "--format=%(objectname) %(refname)", timeout_s=TIMEOUT_S)
    return os.fsdecode(listed.stdout).splitlines()


def _bundled(head: str, refs: list[str]) -> BundleInfo:
    text = "\n".join([f"HEAD {head}", *sorted(refs)]).encode(errors="surrogateescape")
    return BundleInfo(head, len(refs), hashlib.sha256(text).hexdigest())


def new_folder(root: Path, name: str) -> Path:
    """Return the folder of a repository that need not exist. Raises UpstreamRejected."""
    folder = folder_of(root, name)
    if folder is None:
        raise UpstreamRejected(
            "The repository name must have the form owner/name with letters, digits, “.”, “_” and “-” only",
            code="INVALID_NAME",
        )
    return folder


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
        raise UpstreamRejected(
            ErrorMessage("The URL of a repository starts with https:// and has no password"), code="INVALID_URL"
        )
    options = tuple(part for setting in (*OPTIONS, *pinned(source)) for part in ("-c", setting))
    with new_repository(root, folder) as target:
        init(target, BRANCH)
        head = _remote_head(target, options, url)

        def check_size() -> None:
            size = sum(sizes_of(target))
            if size > max_bytes:
                raise UpstreamRejected(
                    ErrorMessage("The repository is too large to be cloned"), code="REPOSITORY_TOO_LARGE"
                )
            watch(size)

        arguments = ("fetch", "--quiet", "--no-tags", "--no-auto-gc", "--no-write-fetch-head", "--", url)
        _run(target, *options, *arguments, "+refs/heads/*:refs/heads/*", timeout_s=TIMEOUT_S, watch=check_size)
        check_size()
        if set_default_branch(target, head) is None:
            raise UpstreamRejected(ErrorMessage("The repository has no branch"), code="REPOSITORY_EMPTY")


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
        raise UpstreamRejected(
            ErrorMessage("The host of the repository must have a public address"), code="INVALID_URL"
        )
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
    return UpstreamRejected(
        ErrorMessage("There is no public repository at this URL, or Git finds faults in it"), code="CLONE_FAILED"
    )
