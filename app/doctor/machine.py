"""Checks of the machine: Git, confinement of previews, room on its disks, open files."""

import re
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from app.doctor.findings import Finding, Patient, failure, ok, warning
from app.drivers.errors import DriverError

GIT_NEEDED = (2, 36)
"""The first with `core.fsync`, by which a commit is on disk when it is acknowledged."""

LEAST_FREE, LITTLE_FREE = 512 * 1024**2, 5 * 1024**3
FILES_NEEDED, FILES_WANTED = 1024, 4096
GIT_WITHIN_S = 10


def git(patient: Patient) -> Iterator[Finding]:
    """Which Git there is."""
    try:
        told = subprocess.run(
            ["git", "--version"], capture_output=True, text=True, timeout=GIT_WITHIN_S, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        judge = failure if patient.settings.git.local_enabled else warning
        yield judge("Git cannot be run", "Install git: local repositories need it.")
        return
    version = tuple(map(int, re.findall(r"\d+", told)[:3]))
    shown = ".".join(map(str, version))
    if version[:2] >= GIT_NEEDED:
        yield ok(f"Git {shown}")
    else:
        needed = ".".join(map(str, GIT_NEEDED))
        yield warning(
            f"Git {shown} is older than {needed}", f"Install Git {needed} or later: commits survive power cuts."
        )


def previews(patient: Patient) -> Iterator[Finding]:
    """Whether sandboxes can be run."""
    name = patient.settings.sandbox.driver
    if name == "none":
        yield ok("Switched off")
        return
    try:
        patient.drivers["sandbox"].check()
    except DriverError as error:
        yield warning(str(error), "Install bubblewrap, allow it user namespaces, or set SANDBOX_DRIVER=none or hosted.")
        return
    yield ok(f"The {name} driver can run sandboxes")
    if patient.settings.is_production and patient.settings.sandbox.preview_host.endswith("localhost"):
        yield warning("Previews answer at localhost only", "Set PREVIEW_HOST to a domain of its own with a wildcard.")


def disk(patient: Patient) -> Iterator[Finding]:
    """Room where the service writes."""
    settings = patient.settings
    places = {"INSTANCE_DIR": settings.server.instance_dir}
    if settings.storage.driver == "local":
        places["STORAGE_DIR"] = settings.storage.directory
    if settings.git.local_enabled:
        places["GIT_LOCAL_ROOT"] = settings.git.local_root
    for name, place in places.items():
        free = shutil.disk_usage(_existing(place)).free
        seen = f"{free / 1024**3:.1f} GiB free at {name}"
        if free < LEAST_FREE:
            yield failure(seen, "Make room: saves and uploads will fail.")
        else:
            yield warning(seen, "Make room soon.") if free < LITTLE_FREE else ok(seen)


def files(_patient: Patient) -> Iterator[Finding]:
    """How many files and sockets a process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft in (resource.RLIM_INFINITY,) or soft >= FILES_WANTED:
        yield ok("Enough files may be open")
    else:
        judge = failure if soft < FILES_NEEDED else warning
        yield judge(f"Only {soft} files may be open", f"Set ulimit -n (LimitNOFILE) to {FILES_WANTED} or more.")


def _existing(place: Path) -> Path:
    return next(folder for folder in (place, *place.parents) if folder.exists())
