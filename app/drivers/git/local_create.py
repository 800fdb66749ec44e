"""Making bare repositories: empty, from a folder's files or from another repository's branches."""

import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from app.core.paths import path_fault
from app.drivers.errors import Rejected
from app.drivers.git.local_commands import run
from app.drivers.git.local_folders import is_bare_repository
from app.drivers.git.local_import import import_commit
from app.drivers.git.local_refs import NOTHING, default_branch, list_branches, move
from app.drivers.git.plan import EXECUTABLE, PLAIN, SYMLINK, Plan, Write
from app.drivers.git.port import Person, RepositoryExists

BRANCH = "main"
TIMEOUT_S = 600.0
SCAFFOLD_S = 3600.0


def create_repository(root: Path, folder: Path, *, source: Path | None, bot: Person) -> None:
    """Make the bare repository `folder`; it appears whole or not at all.

    Without a source it has no commit yet. A source that is a repository gives its branches, another folder its files.

    Raises:
        RepositoryExists: something of that name is there.
        Rejected: the source cannot be read, or holds a path the service cannot name.
    """
    with in_place(root, folder) as made:
        run(made, "init", "--quiet", "--bare", f"--initial-branch={BRANCH}", "--template=", timeout_s=TIMEOUT_S)
        if source is not None:
            _fill(made, source.resolve(), bot)


def _fill(made: Path, source: Path, bot: Person) -> None:
    if not source.is_dir():
        raise Rejected("The source is not a folder")
    inner = source / ".git"
    if inner.exists() or is_bare_repository(source):
        _fetch(made, source, inner if inner.is_dir() else source)
    else:
        plan = Plan((), tuple(_write(source, path) for path in _files(source)))
        done = import_commit(made, plan, "Add files", bot, parent=None, timeout_s=TIMEOUT_S)
        move(made, BRANCH, done.commit, NOTHING, head=lambda: None, timeout_s=TIMEOUT_S)


def _fetch(made: Path, source: Path, inner: Path) -> None:
    options = ("--quiet", "--no-tags", "--no-auto-gc", "--no-write-fetch-head")
    run(made, "fetch", *options, "--", str(source), "+refs/heads/*:refs/heads/*", timeout_s=TIMEOUT_S)
    names = [branch.name for branch in list_branches(made, timeout_s=TIMEOUT_S)]
    wanted = [name for name in (default_branch(inner), BRANCH, *names) if name in names]
    if wanted:
        run(made, "symbolic-ref", "HEAD", f"refs/heads/{wanted[0]}", timeout_s=TIMEOUT_S)


def _files(source: Path) -> Iterator[Path]:
    """Every file and link below a folder."""
    for parent, folders, names in os.walk(source):
        links = [name for name in folders if Path(parent, name).is_symlink()]
        folders[:] = sorted(name for name in folders if name not in links)
        yield from (Path(parent, name) for name in sorted([*names, *links]))


def _write(source: Path, file: Path) -> Write:
    path = file.relative_to(source).as_posix()
    if fault := path_fault(path):
        raise Rejected(f"{path!a}: {fault}", code="INVALID_PATH")
    if file.is_symlink():
        return Write(path, SYMLINK, os.fsencode(file.readlink()))
    if not file.is_file():
        raise Rejected(f"{path!a}: it is neither a file nor a link", code="INVALID_PATH")
    return Write(path, EXECUTABLE if os.access(file, os.X_OK) else PLAIN, file.read_bytes())


@contextmanager
def in_place(root: Path, folder: Path) -> Iterator[Path]:
    """An empty folder to make a repository in, which becomes `folder` at the end. Raises RepositoryExists."""
    if folder.exists():
        raise RepositoryExists("A repository of that name already exists")
    with _scaffold(root) as made:
        yield made
        _put_in_place(made, folder)


@contextmanager
def _scaffold(root: Path) -> Iterator[Path]:
    """A folder beside the repositories, gone afterwards unless it was moved away."""
    parent = root / ".new"
    parent.mkdir(parents=True, exist_ok=True)
    for left in parent.iterdir():
        if left.stat().st_mtime < time.time() - SCAFFOLD_S:
            shutil.rmtree(left, ignore_errors=True)
    made = parent / secrets.token_hex(8)
    made.mkdir()
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _put_in_place(made: Path, folder: Path) -> None:
    folder.parent.mkdir(exist_ok=True)
    try:
        made.rename(folder)
    except OSError as taken:
        if folder.exists():
            raise RepositoryExists("A repository of that name already exists") from taken
        raise
    descriptor = os.open(folder.parent, os.O_RDONLY)
    with suppress(OSError):
        os.fsync(descriptor)
    os.close(descriptor)
