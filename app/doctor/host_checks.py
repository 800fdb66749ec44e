"""Checks of the machine: Git, sandboxes of previews, disk space and open files."""

import re
import resource
import shutil
import stat
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import sqlalchemy as sa

from app.doctor.findings import Deployment, Finding, failure, ok, warning
from app.drivers.errors import DriverError
from app.models.project_content import ContentIndex
from app.resources.project_content.unreadable import PROBLEM
from app.security.private_files import OTHERS

MIN_GIT_VERSION = (2, 36)
"""First version with `core.fsync`, which writes a commit to disk before it is acknowledged."""

MIN_FREE, LOW_FREE = 512 * 1024**2, 5 * 1024**3
MIN_FILES, RECOMMENDED_FILES = 1024, 4096
GIT_TIMEOUT_S = 10
UNPACKED_FACTOR, MAX_NAMED = 5, 10


def git(deployment: Deployment) -> Iterator[Finding]:
    """Check the version of Git."""
    try:
        output = subprocess.run(
            ["git", "--version"], capture_output=True, text=True, timeout=GIT_TIMEOUT_S, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        judge = failure if deployment.settings.git.local_enabled else warning
        yield judge("Git cannot be run", "Install git: local repositories require it.")
        return
    version = tuple(map(int, re.findall(r"\d+", output)[:3]))
    shown = ".".join(map(str, version))
    if version[:2] >= MIN_GIT_VERSION:
        yield ok(f"Git {shown}")
    else:
        required = ".".join(map(str, MIN_GIT_VERSION))
        yield warning(
            f"Git {shown} is older than {required}",
            f"Install Git {required} or later: older versions can lose commits in a power failure.",
        )


def repositories(deployment: Deployment) -> Iterator[Finding]:
    """Check that the commit and tree of each branch of the local repositories are readable, and packed."""
    local = deployment.drivers.git.local
    if local is None:
        yield ok("Local repositories are disabled")
        return
    names, damaged, unpacked = list(local.bundles.names()), list[str](), list[str]()
    for name in names:
        try:
            repository = local.open(name)
            damaged += [f"{name} ({branch})" for branch in repository.unreadable_branches()]
            unpacked += [name] if repository.needs_packing(factor=UNPACKED_FACTOR) else []
        except DriverError:
            damaged.append(name)
    with deployment.engine.connect() as connection:
        statement = sa.select(ContentIndex.project_id, ContentIndex.branch).where(ContentIndex.problem == PROBLEM)
        incomplete = [f"{project} ({branch})" for project, branch in connection.execute(statement.limit(MAX_NAMED + 1))]
    restore = "Run git fsck in the repository and restore the objects from a backup or a clone."
    if damaged:
        yield failure(f"Branches whose commit is missing or damaged: {_named(damaged)}", restore)
    if incomplete:
        yield failure(
            f"Projects with missing or damaged files: {_named(incomplete)}", restore + " Then reindex the project."
        )
    if unpacked:
        yield warning(
            f"Repositories with too many loose objects: {_named(unpacked)}",
            "Check git.repack_failed in the worker's log.",
        )
    if not damaged and not incomplete and not unpacked:
        yield ok(f"The branches of {len(names)} local repositories can be read")


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:MAX_NAMED]) + (" …" if len(names) > MAX_NAMED else "")


def previews(deployment: Deployment) -> Iterator[Finding]:
    """Check that the sandbox driver can run sandboxes."""
    name = deployment.settings.sandbox.driver
    if name == "none":
        yield ok("Previews are disabled")
        return
    try:
        deployment.drivers.sandbox.check()
    except DriverError as error:
        yield warning(str(error), "Install bubblewrap, allow it user namespaces, or set SANDBOX_DRIVER=none or hosted.")
        return
    yield ok(f"The {name} driver can run sandboxes")
    if deployment.settings.is_production and deployment.settings.sandbox.preview_host.endswith("localhost"):
        yield warning(
            "Previews answer at localhost only", "Set PREVIEW_HOST to a separate domain with a wildcard record."
        )


def disk(deployment: Deployment) -> Iterator[Finding]:
    """Check the free space of the folders that the service writes."""
    settings = deployment.settings
    folders = {"INSTANCE_DIR": settings.server.instance_dir}
    if settings.storage.driver == "local":
        folders["STORAGE_DIR"] = settings.storage.directory
    if settings.git.local_enabled:
        folders["GIT_LOCAL_ROOT"] = settings.git.local_root
    for name, folder in folders.items():
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        free = shutil.disk_usage(existing).free
        observed = f"{free / 1024**3:.1f} GiB free at {name}"
        if free < MIN_FREE:
            yield failure(observed, "Free disk space: saves and uploads will fail.")
        else:
            yield warning(observed, "Free disk space soon.") if free < LOW_FREE else ok(observed)


def permissions(deployment: Deployment) -> Iterator[Finding]:
    """Check that other users of the machine cannot read what the service stores.

    An older version created such folders.
    """
    exposed = [(name, path) for name, path in _stored_paths(deployment).items() if is_exposed(path)]
    for name, path in exposed:
        mode = "700" if path.is_dir() else "600"
        yield warning(f"Other users of this machine can read {name}", f"Run chmod {mode} {path}.")
    if not exposed:
        yield ok("Other users of this machine cannot read the files of the service")


def is_exposed(path: Path) -> bool:
    """Return whether a path exists and permits other users to read or use it through all folders above it."""
    if not path.exists() or not path.stat().st_mode & OTHERS:
        return False
    return all(above.stat().st_mode & stat.S_IXOTH for above in path.resolve().parents)


def _stored_paths(deployment: Deployment) -> dict[str, Path]:
    settings, url = deployment.settings, deployment.engine.url
    paths = {"INSTANCE_DIR": settings.server.instance_dir}
    if url.get_backend_name() == "sqlite" and url.database:
        paths["the database"] = Path(url.database)
    if settings.storage.driver == "local":
        paths["STORAGE_DIR"] = settings.storage.directory
    if settings.mail.driver == "file":
        paths["MAIL_DIR"] = settings.mail.directory
    if settings.git.local_enabled:
        paths["GIT_LOCAL_ROOT"] = settings.git.local_root
    return paths


def files(_deployment: Deployment) -> Iterator[Finding]:
    """Check the limit of open files and sockets of a process."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft in (resource.RLIM_INFINITY,) or soft >= RECOMMENDED_FILES:
        yield ok("The limit of open files is sufficient")
    else:
        judge = failure if soft < MIN_FILES else warning
        yield judge(
            f"A process can open only {soft} files", f"Set ulimit -n (LimitNOFILE) to {RECOMMENDED_FILES} or more."
        )
