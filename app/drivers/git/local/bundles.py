"""Local repositories as files (`git bundle`)."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from app.drivers.errors import UpstreamRejected
from app.drivers.git.bundles import BundleInfo
from app.drivers.git.local.commands import run
from app.drivers.git.local.create import TIMEOUT_S, init, new_repository
from app.drivers.git.local.folders import folder_of, is_bare_repository
from app.drivers.git.local.refs import default_branch


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
        """Bundle all refs. The hash covers the refs of the bundle."""
        folder = self._valid_folder(name)
        if not _refs_of(folder):
            return _described(folder)
        run(folder, "bundle", "create", "--quiet", str(file.absolute()), "--all", timeout_s=TIMEOUT_S)
        listed = run(folder, "bundle", "list-heads", str(file.absolute()), timeout_s=TIMEOUT_S).stdout
        refs = [line for line in os.fsdecode(listed).splitlines() if not line.endswith(" HEAD")]
        return _bundled(default_branch(folder), refs)

    def read(self, name: str, file: Path | None, head: str) -> BundleInfo:
        """Fetch from the bundle into a temporary folder and rename it."""
        with new_repository(self._root, self._valid_folder(name)) as target:
            init(target, head)
            if file is not None:
                _fetch(target, str(file.absolute()))
            return _described(target)

    def _valid_folder(self, name: str) -> Path:
        folder = folder_of(self._root, name)
        if folder is None:
            raise UpstreamRejected("The repository name is invalid", code="INVALID_NAME")
        return folder


def _fetch(target: Path, bundle: str) -> None:
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
