"""The folder of one local sandbox: what is put into it before the jail, and taken away after it."""

import json
import os
import re
import shutil
import signal
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from app.core.paths import path_fault
from app.drivers.errors import Rejected
from app.drivers.sandbox.port import EXECUTABLE, SYMLINK, SandboxGone, SiteFile
from app.drivers.sandbox.supervising.confined import started

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


def check_name(name: str) -> str:
    """The name itself. Raises SandboxGone for what can be no sandbox's."""
    if NAME.fullmatch(name) is None:
        raise SandboxGone("There is no such preview")
    return name


def lay_out(folder: Path, files: Iterable[SiteFile], *, user: int | None, max_bytes: int) -> None:
    """Write the site into `work`, before anything of it runs; symbolic links last, so that no file goes through one.

    Raises:
        Rejected: the files are larger than a sandbox, or one cannot be written.
    """
    work, links, total = folder / "work", [], 0
    for place in (work, folder / "tmp"):
        place.mkdir(mode=0o755)
    for file in files:
        total += len(file.content)
        if total > max_bytes:
            raise Rejected("The site is larger than a sandbox's disk")
        if file.mode == SYMLINK:
            links.append(file)
        else:
            _write(work, file)
    for link in links:
        target = _below(work, link.path)
        target.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            target.symlink_to(os.fsdecode(link.content))
    if user is not None:
        _give(folder, user)


def _write(work: Path, file: SiteFile) -> None:
    target = _below(work, file.path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.content)
    except OSError as error:
        raise Rejected(f"A file of the site cannot be written: {error.strerror}") from error
    target.chmod(0o755 if file.mode == EXECUTABLE else 0o644)


def _below(work: Path, path: str) -> Path:
    if path_fault(path) is not None:
        raise Rejected("The site has a path that no sandbox can hold")
    return work / path


def _give(folder: Path, user: int) -> None:
    for place in (folder / "work", folder / "tmp"):
        for _, folders, names, descriptor in os.fwalk(place):
            for name in (*folders, *names):
                os.chown(name, user, user, dir_fd=descriptor, follow_symlinks=False)
        os.chown(place, user, user)


def make_folder(folder: Path, user: int | None) -> None:
    """A folder that the jail's user may fill."""
    folder.mkdir(mode=0o755)
    if user is not None:
        os.chown(folder, user, user)


def end_processes(folder: Path) -> None:
    """Kill what the supervisor wrote down, the jail's first process and the supervisor included, if it still runs."""
    try:
        processes = json.loads((folder / "state.json").read_text())["processes"]
    except (OSError, ValueError, KeyError):
        return
    for pid, since in processes:
        if since and started(pid) == since:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def remove(folder: Path) -> None:
    """Remove the folder, whatever modes the site gave to folders of its own."""
    with suppress(FileNotFoundError):
        try:
            shutil.rmtree(folder)
        except PermissionError:
            _open_folders(folder)
            shutil.rmtree(folder)


def _open_folders(folder: Path) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                Path(entry.path).chmod(stat.S_IRWXU)
                _open_folders(Path(entry.path))
