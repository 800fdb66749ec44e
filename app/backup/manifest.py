"""What a backup says of itself; written last, so that a folder without it is none."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

FORMAT = 1
FILE = "manifest.json"


class BackupError(Exception):
    """A backup cannot be made, read or put back; the message says why and what to do."""


@dataclass(frozen=True)
class Section:
    """A file of lines: how many, the sum of their SHA-256 whatever their order, and the file's own SHA-256."""

    lines: int
    lines_sha256: str
    file_sha256: str


@dataclass(frozen=True)
class Manifest:
    """`store` is a database's dialect, `revision` its schema, `keys` name what seals the secrets in it.

    `missing` are stored objects that rows speak of and the object store did not have.
    """

    made_at: str
    store: str
    revision: str
    keys: list[str]
    tables: dict[str, Section]
    jobs: Section
    objects: Section
    repositories: Section
    missing: list[str] = field(default_factory=list)
    format: int = FORMAT

    def write(self, folder: Path) -> None:
        """Make the folder a backup."""
        draft = folder / f".{FILE}"
        draft.write_text(json.dumps(asdict(self), indent=2), encoding="utf-8")
        draft.rename(folder / FILE)


def read(folder: Path) -> Manifest:
    """Read a backup's manifest.

    Raises:
        BackupError: the folder holds no whole backup, one of another format, or a manifest that was changed by hand.
    """
    try:
        told = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BackupError(f"{folder} holds no complete backup: {FILE} cannot be read.") from error
    found = told.get("format") if isinstance(told, dict) else None
    if found != FORMAT:
        raise BackupError(f"This backup has format {found}; this version reads format {FORMAT}.")
    try:
        single = {name: Section(**told[name]) for name in ("jobs", "objects", "repositories")}
        tables = {name: Section(**section) for name, section in told["tables"].items()}
        return Manifest(**(told | single | {"tables": tables}))
    except (AttributeError, KeyError, TypeError) as error:
        raise BackupError(f"{FILE} of the backup is damaged: it lacks what its format has.") from error
