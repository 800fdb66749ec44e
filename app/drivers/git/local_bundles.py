"""Local repositories as one file each (`git bundle`) and back; knows no backup, only what makes two repositories equal."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from app.drivers.errors import Rejected
from app.drivers.git.bundles import Bundled
from app.drivers.git.local_commands import run
from app.drivers.git.local_create import TIMEOUT_S, in_place
from app.drivers.git.local_folders import folder_of, is_bare_repository
from app.drivers.git.local_refs import default_branch


class LocalBundles:
    """Implements `Bundles` for the repositories below a resolved root."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def names(self) -> Iterator[str]:
        """Walk the root."""
        for owner in sorted(self._root.iterdir()):
            for folder in sorted(owner.iterdir()) if owner.is_dir() else ():
                name = f"{owner.name}/{folder.name.removesuffix('.git')}"
                if folder.suffix == ".git" and folder_of(self._root, name) == folder and is_bare_repository(folder):
                    yield name

    def described(self, name: str) -> Bundled | None:
        """Read HEAD and the refs."""
        folder = folder_of(self._root, name)
        return _described(folder) if folder is not None and is_bare_repository(folder) else None

    def write(self, name: str, file: Path) -> Bundled:
        """Bundle all refs; the hash is over those that the bundle holds."""
        folder = self._place(name)
        if not _refs_of(folder):
            return _described(folder)
        run(folder, "bundle", "create", "--quiet", str(file.absolute()), "--all", timeout_s=TIMEOUT_S)
        listed = run(folder, "bundle", "list-heads", str(file.absolute()), timeout_s=TIMEOUT_S).stdout
        refs = [line for line in os.fsdecode(listed).splitlines() if not line.endswith(" HEAD")]
        return _bundled(default_branch(folder), refs)

    def read(self, name: str, file: Path | None, head: str) -> Bundled:
        """Fetch from the bundle into a folder beside, then move that into place."""
        with in_place(self._root, self._place(name)) as made:
            run(made, "init", "--quiet", "--bare", f"--initial-branch={head}", "--template=", timeout_s=TIMEOUT_S)
            if file is not None:
                _fetch(made, str(file.absolute()))
            return _described(made)

    def _place(self, name: str) -> Path:
        folder = folder_of(self._root, name)
        if folder is None:
            raise Rejected("This is not the name of a repository", code="INVALID_NAME")
        return folder


def _fetch(made: Path, bundle: str) -> None:
    checked = run(made, "bundle", "verify", "--quiet", bundle, timeout_s=TIMEOUT_S, accepts=(0, 1, 128))
    if checked.returncode:
        raise Rejected("A repository's bundle cannot be read", code="INVALID_BUNDLE")
    options = ("--quiet", "--no-tags", "--no-auto-gc", "--no-write-fetch-head")
    run(made, "fetch", *options, "--", bundle, "+refs/*:refs/*", timeout_s=TIMEOUT_S)


def _described(folder: Path) -> Bundled:
    return _bundled(default_branch(folder), _refs_of(folder))


def _refs_of(folder: Path) -> list[str]:
    listed = run(folder, "for-each-ref", "--format=%(objectname) %(refname)", timeout_s=TIMEOUT_S)
    return os.fsdecode(listed.stdout).splitlines()


def _bundled(head: str, refs: list[str]) -> Bundled:
    told = "\n".join([f"HEAD {head}", *sorted(refs)]).encode(errors="surrogateescape")
    return Bundled(head, len(refs), hashlib.sha256(told).hexdigest())
