"""Local repositories as bundles, each with the hash of its refs in a list."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson

from app.backup.lines import LineWriter
from app.backup.manifest import BackupError
from app.drivers.errors import DriverError
from app.drivers.git.bundles import Bundles

FOLDER = "repositories"


def save(bundles: Bundles, target: Path, listed: LineWriter) -> None:
    """Write every repository."""
    for name in bundles.names():
        place = _place(target, name)
        place.parent.mkdir(parents=True, exist_ok=True)
        told = bundles.write(name, place)
        listed.write(orjson.dumps([name, told.head, told.refs, told.sha256]))


def restore(bundles: Bundles, source: Path, lines: Iterable[bytes]) -> None:
    """Make every repository again; one that is there already with the same refs is left alone.

    Raises:
        BackupError: another repository of that name is there, or a bundle is missing or damaged.
    """
    for line in lines:
        name, head, refs, sha256 = orjson.loads(line)
        there = bundles.described(name)
        if there is not None and there.sha256 != sha256:
            raise BackupError(f"There is another repository {name} already; move it away first.")
        if there is None:
            try:
                made = bundles.read(name, _place(source, name) if refs else None, head)
            except DriverError as error:
                raise BackupError(f"The copy of the repository {name} is missing or damaged.") from error
            if made.sha256 != sha256:
                raise BackupError(f"The copy of the repository {name} is not the one that was listed.")


def differences(bundles: Bundles, lines: Iterable[bytes]) -> Iterator[str]:
    """What is otherwise than the list says."""
    for line in lines:
        name, _, _, sha256 = orjson.loads(line)
        there = bundles.described(name)
        if there is None:
            yield f"repository {name} is missing"
        elif there.sha256 != sha256:
            yield f"repository {name} differs"


def _place(folder: Path, name: str) -> Path:
    return folder / FOLDER / f"{name}.bundle"
