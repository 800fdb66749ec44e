"""Bundles of local repositories, and a list with the hashes of their refs."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson

from app.backup.json_lines import LineWriter
from app.backup.manifest import BackupError
from app.drivers.errors import DriverError
from app.drivers.git.port import Bundles

FOLDER = "repositories"


def save(bundles: Bundles, target: Path, listed: LineWriter) -> None:
    """Write a bundle of every repository."""
    for name in bundles.names():
        path = _bundle_path(target, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        bundle = bundles.write(name, path)
        listed.write(orjson.dumps([name, bundle.head, bundle.refs, bundle.sha256]))


def restore(bundles: Bundles, source: Path, lines: Iterable[bytes]) -> None:
    """Restore every repository. An existing repository with the same refs is not changed.

    Raises:
        BackupError: another repository has the same name, or a bundle is missing or damaged.
    """
    for line in lines:
        name, head, refs, sha256 = orjson.loads(line)
        existing = bundles.described(name)
        if existing is not None and existing.sha256 != sha256:
            raise BackupError(f"A different repository {name} exists. Move it to another folder.")
        if existing is None:
            try:
                restored = bundles.read(name, _bundle_path(source, name) if refs else None, head)
            except DriverError as error:
                raise BackupError(f"The backup copy of repository {name} is missing or damaged.") from error
            if restored.sha256 != sha256:
                raise BackupError(f"The backup copy of repository {name} differs from the list.")


def differences(bundles: Bundles, lines: Iterable[bytes]) -> Iterator[str]:
    """Yield each difference between the repositories and the list."""
    for line in lines:
        name, _, _, sha256 = orjson.loads(line)
        existing = bundles.described(name)
        if existing is None:
            yield f"repository {name} is missing"
        elif existing.sha256 != sha256:
            yield f"repository {name} differs"


def _bundle_path(folder: Path, name: str) -> Path:
    return folder / FOLDER / f"{name}.bundle"
