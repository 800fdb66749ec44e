"""Dependencies that an installation made, kept by their lock file's hash and shown read-only to later sandboxes.

Kept for one owner alone: whoever may run an installation script may change what it leaves.
"""

import hashlib
import os
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.core.runtimes.recipe import Recipe

NODE_MODULES = "node_modules"
WRITABLE = (".cache", ".vite", ".vite-temp", ".astro", ".tmp")
"""Folders in there that servers write to; made before it is kept, so that each sandbox can have its own over them."""

KEPT_AT_MOST = 20
IN_USE_S = 24 * 3600
"""Nobody shows what was kept longer ago than any sandbox lives; a day is far beyond that."""


@dataclass(frozen=True)
class Kept:
    """Where the dependencies of one lock file are, or will be."""

    folder: Path
    inside: str

    @property
    def exists(self) -> bool:
        """Whether they are there, whole."""
        return self.folder.is_dir()


def place_of(root: Path, owner: str, recipe: Recipe) -> Kept | None:
    """The place for a recipe's dependencies; None for a recipe that has none worth keeping."""
    if recipe.dependencies is None or not recipe.install:
        return None
    node = shutil.which("node") or ""
    version = str(Path(node).stat().st_mtime_ns) if node else ""
    words = "\0".join([owner, recipe.dependencies, recipe.folder, version])
    inside = "/".join(filter(None, ("/work", recipe.folder, NODE_MODULES)))
    return Kept(root / hashlib.sha256(words.encode()).hexdigest(), inside)


def note_use(kept: Kept) -> None:
    """Remember that it is needed."""
    with suppress(OSError):
        os.utime(kept.folder)


def forget_old(root: Path) -> None:
    """Remove what was not used for a day, beyond the newest twenty."""
    if not root.is_dir():
        return
    found = sorted(root.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for folder in found[KEPT_AT_MOST:]:
        if folder.stat().st_mtime < time.time() - IN_USE_S:
            shutil.rmtree(folder, ignore_errors=True)
