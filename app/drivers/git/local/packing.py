"""Packing of a repository with `git gc`, while other processes read it and write to it.

Unreferenced objects stay for two weeks, because a writer creates its objects before it moves the branch.
"""

import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from app.drivers.git.local.commands import DiskFull, run
from app.drivers.git.local.locks import exclusive
from app.drivers.git.local.repositories import sizes_of

MAX_LOOSE_OBJECTS, MAX_PACKS = 2_000, 50
PACK_TIMEOUT_S = 600.0
MAX_COPIED_PACK = 512 << 20
"""Packs of this size and more stay as they are, so the work of one run is limited."""

MIN_FREE = 64 << 20
"""Bytes that stay free on the disk during packing."""

PRUNED_AFTER = "2.weeks.ago"
LOCK_AGE_S, TEMPORARY_AGE_S = 1_200.0, 86_400.0
"""Ages of files that only a killed process leaves."""

# Refs stay files, which the service reads without git. Unreferenced objects are stored in one pack with their times; as
# loose objects they would be counted again.
OPTIONS = tuple(
    part
    for setting in (
        "gc.cruftPacks=true",
        "gc.packRefs=false",
        f"gc.bigPackThreshold={MAX_COPIED_PACK}",
        "repack.writeBitmaps=false",
        "pack.threads=1",
        "pack.windowMemory=64m",
        "pack.deltaCacheSize=64m",
        "core.bigFileThreshold=16m",
    )
    for part in ("-c", setting)
)


def needs_packing(directory: Path, *, factor: int = 1) -> bool:
    """Return whether a repository has `factor` times as many loose objects or packs as are tolerated.

    Reads names only.
    """
    packs = sum(name.endswith(".pack") for name in _names(directory / "objects/pack"))
    return packs > factor * MAX_PACKS or loose_objects(directory) > factor * MAX_LOOSE_OBJECTS


def loose_objects(directory: Path) -> int:
    """Return the number of loose objects. A folder that packing has removed counts as empty."""
    folders = (directory / "objects" / name for name in _names(directory / "objects") if len(name) == 2)
    return sum(len(name) == 38 for folder in folders for name in _names(folder))


def pack(directory: Path, *, timeout_s: float = PACK_TIMEOUT_S) -> bool:
    """Pack the loose objects and join the packs. Return False if another process of the service packs the repository.

    Raises:
        DiskFull: the disk cannot contain a second copy of the packed objects.
        GitFailed: a `git gc` of another program is running, or an object is missing. Nothing is deleted.
        UpstreamTimeout: the packing took longer than `timeout_s`. The repository is unchanged.
    """
    with exclusive(directory / "objects") as is_locked:
        if is_locked:
            remove_leftovers(directory)
            copied = sum(size for size in sizes_of(directory / "objects") if size < MAX_COPIED_PACK)
            if shutil.disk_usage(directory).free < copied + MIN_FREE:
                raise DiskFull
            run(directory, *OPTIONS, "gc", "--quiet", f"--prune={PRUNED_AFTER}", timeout_s=timeout_s)
    return is_locked


def remove_leftovers(directory: Path) -> None:
    """Remove the locks, the temporary packs and the received objects of killed processes."""
    info, packs = directory / "objects/info", directory / "objects/pack"
    locks = (directory / "packed-refs.lock", info / "commit-graph.lock", info / "commit-graphs/commit-graph-chain.lock")
    _remove_older(iter(locks), LOCK_AGE_S)
    for quarantine in (directory / "objects").glob("tmp_objdir-*"):
        with suppress(FileNotFoundError):
            if quarantine.stat().st_mtime < time.time() - LOCK_AGE_S:
                shutil.rmtree(quarantine, ignore_errors=True)
    _remove_older((packs / name for name in _names(packs) if name.startswith(("tmp_", ".tmp-"))), TEMPORARY_AGE_S)


def _remove_older(files: Iterator[Path], age_s: float) -> None:
    for file in files:
        with suppress(FileNotFoundError):
            if file.stat().st_mtime < time.time() - age_s:
                file.unlink()


def _names(folder: Path) -> list[str]:
    with suppress(FileNotFoundError, NotADirectoryError):
        return [path.name for path in folder.iterdir()]
    return []
