"""Cache of installed dependencies, by lock file. Later sandboxes of the same owner read an entry and cannot change it.

An entry belongs to one owner (an organization): an installation script decides what the entry contains.
"""

import hashlib
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.drivers.sandbox.local.node import NodeProgram, select_node
from app.drivers.sandbox.local.python import PythonProgram, select_python
from app.drivers.sandbox.local.removal import remove_tree
from app.runtimes.recipe import Recipe

NODE_MODULES = "node_modules"
WRITABLE = (".cache", ".vite", ".vite-temp", ".astro", ".tmp")
"""Folders below node_modules that development servers write to. Each sandbox gets them in memory."""

MAX_ENTRIES = 20
MIN_AGE_S = 24 * 3600
"""Age of an unused entry that may be removed. No sandbox lives that long."""


@dataclass(frozen=True)
class DependencyCacheEntry:
    """Dependencies of one lock file. `inside` is their folder in the jail."""

    folder: Path
    inside: str

    @property
    def exists(self) -> bool:
        """Return whether the entry is complete."""
        return self.folder.is_dir()

    @property
    def writable(self) -> tuple[str, ...]:
        """Return the folders of the entry that are replaced by folders in memory."""
        return tuple(name for name in WRITABLE if _is_folder(self.folder / name))

    def note_use(self) -> None:
        with suppress(OSError):
            os.utime(self.folder)


def cache_entry_for(root: Path, owner: str, recipe: Recipe) -> DependencyCacheEntry | None:
    """Return the entry of a recipe, or None for a recipe without a lock file."""
    if recipe.dependencies is None or not (recipe.install or recipe.prepare):
        return None
    programs: list[NodeProgram | PythonProgram] = []
    if "node" in recipe.tools:
        programs.append(select_node(recipe.node))
    if "pip" in recipe.tools:
        programs.append(select_python(recipe.python))
    version = "\0".join(f"{program.program} {program.version}" for program in programs)
    inside = recipe.dependency_folder or "/".join(filter(None, ("/work", recipe.folder, NODE_MODULES)))
    key = "\0".join([owner, recipe.dependencies, inside, version])
    return DependencyCacheEntry(root / hashlib.sha256(key.encode()).hexdigest(), inside)


def evict_old(root: Path) -> None:
    """Remove entries beyond the twenty most recently used if they were not used for a day."""
    if not root.is_dir():
        return
    entries: list[tuple[float, Path]] = []
    for folder in root.iterdir():
        # Another process may remove the same entries.
        with suppress(FileNotFoundError):
            entries.append((folder.stat().st_mtime, folder))
    entries.sort(reverse=True)
    for used_at, folder in entries[MAX_ENTRIES:]:
        if used_at < time.time() - MIN_AGE_S:
            with suppress(OSError):
                remove_tree(folder)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
