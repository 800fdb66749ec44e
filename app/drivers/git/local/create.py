"""Creation of bare repositories: empty, from the files of a folder or from the branches of a repository."""

import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from app.core.paths import path_error
from app.drivers.errors import UpstreamRejected
from app.drivers.git.commit_plan import EXECUTABLE, PLAIN, SYMLINK, CommitPlan, FileWrite
from app.drivers.git.errors import RepositoryExists
from app.drivers.git.local.commands import GitFailed, run
from app.drivers.git.local.folders import foreign_storage, is_bare_repository
from app.drivers.git.local.new_commit import CommitIdentity, create_commit
from app.drivers.git.local.refs import default_branch, list_branches
from app.drivers.git.local.unclaimed import mark
from app.drivers.git.port import Person

BRANCH = "main"
TIMEOUT_S = 600.0
SCAFFOLD_S = 3600.0
# Checks of received objects. The ignored faults are harmless and common in old repositories.
IGNORED_FAULTS = "\tzeroPaddedFilemode = ignore\n\tbadTimezone = ignore\n\tmissingSpaceBeforeDate = ignore\n"
OBJECT_CHECKS = f'[transfer]\n\tfsckObjects = true\n[fetch "fsck"]\n{IGNORED_FAULTS}[receive "fsck"]\n{IGNORED_FAULTS}'


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
        created = create_commit(target, plan, "Add files", CommitIdentity(bot, bot), parent=None)
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
