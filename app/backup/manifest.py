"""The manifest of a backup. It is written last: a folder without a manifest is not a backup."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

FORMAT = 1
FILE = "manifest.json"


class BackupError(Exception):
    """A backup that cannot be written, read or restored. The message contains the reason and the remedy."""


@dataclass(frozen=True)
class Section:
    """A file of lines: their number, the sum of their SHA-256 values, and the SHA-256 of the file."""

    lines: int
    lines_sha256: str
    file_sha256: str


@dataclass(frozen=True)
class Manifest:
    """The contents of a backup.

    `store` is the dialect of the database, `revision` its schema, `keys` the ids of the keys that encrypt its secrets.
    `missing` lists objects that rows refer to and that the object store did not contain.
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
        """Write the manifest to the folder of the backup."""
        draft = folder / f".{FILE}"
        draft.write_text(json.dumps(asdict(self), indent=2), encoding="utf-8")
        draft.rename(folder / FILE)


def read(folder: Path) -> Manifest:
    """Read the manifest of a backup.

    Raises:
        BackupError: the folder contains no complete backup, another format, or a damaged manifest.
    """
    try:
        data = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BackupError(f"{folder} is not a complete backup: {FILE} cannot be read.") from error
    version = data.get("format") if isinstance(data, dict) else None
    if version != FORMAT:
        raise BackupError(f"This backup has format {version}; this version reads format {FORMAT}.")
    try:
        single = {name: Section(**data[name]) for name in ("jobs", "objects", "repositories")}
        tables = {name: Section(**section) for name, section in data["tables"].items()}
        return Manifest(**(data | single | {"tables": tables}))
    except (AttributeError, KeyError, TypeError) as error:
        raise BackupError(f"{FILE} of the backup is damaged: fields are missing.") from error
