"""Writing of a backup while the service runs.

Objects are copied before the rows and again after them, so the copies contain every object that rows refer to.
Repositories are last: their branches only grow, and an index catches up with them.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson
import sqlalchemy as sa

from app.backup import connections, json_lines, objects, repositories, tables
from app.backup.json_lines import LineWriter
from app.backup.manifest import BackupError, Manifest, Section
from app.core import clock
from app.drivers.git.port import Bundles
from app.drivers.jobs.port import JobEngine
from app.drivers.storage.port import ObjectStore
from app.models.media import MediaAsset

MAX_MISSING_LISTED = 100
OWNER_ONLY = 0o700


@dataclass(frozen=True)
class BackupSources:
    """The stores of a backup and of a restore. `bundles` is None if local repositories are disabled."""

    url: sa.URL
    jobs: JobEngine
    store: ObjectStore
    bundles: Bundles | None


def section_path(folder: Path, name: str) -> Path:
    """Return the path of the lines of a section."""
    return folder / f"{name}.jsonl.zst"


def save(service: BackupSources, target: Path) -> Manifest:
    """Write a backup to a folder that is empty or does not exist.

    Raises:
        BackupError: the folder is not empty or not writable, or the database is not migrated.
        DriverError: the object store or a repository cannot be read.
    """
    _prepare(target)
    try:
        return _save(service, target)
    except OSError as error:
        message = f"{target} cannot be written: {error.strerror}. Delete the folder: it is not a complete backup."
        raise BackupError(message) from error


def _save(service: BackupSources, target: Path) -> Manifest:
    keys: set[str] = set()
    with LineWriter(section_path(target, objects.FOLDER)) as copied:
        objects.save(service.store, target, copied)
        with connections.reading(service.url) as connection:
            store, revision = connection.dialect.name, _revision(connection)
            sections = dict(_rows(connection, service.jobs, target, keys))
            queue = json_lines.write_all(section_path(target, "jobs"), tables.call_lines(connection, service.jobs))
            created_at = clock.now().isoformat()
        objects.save(service.store, target, copied)
    with LineWriter(section_path(target, repositories.FOLDER)) as bundled:
        if service.bundles is not None:
            repositories.save(service.bundles, target, bundled)
    manifest = Manifest(
        made_at=created_at,
        store=store,
        revision=revision,
        keys=sorted(keys),
        tables=sections,
        jobs=queue,
        objects=copied.section,
        repositories=bundled.section,
        missing=_missing(target, sections),
    )
    os.sync()
    manifest.write(target)
    os.sync()
    return manifest


def table_path(folder: Path, name: str) -> Path:
    """Return the path of the lines of a table."""
    return section_path(folder / "tables", name)


def _prepare(target: Path) -> None:
    try:
        target.mkdir(mode=OWNER_ONLY, parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise BackupError(f"{target} is not empty. Use an empty folder or a new path.")
    except OSError as error:
        raise BackupError(f"{target} cannot be used: {error.strerror}.") from error


def _revision(connection: sa.Connection) -> str:
    if not sa.inspect(connection).has_table(tables.ALEMBIC):
        raise BackupError("The database is not migrated and contains no data.")
    return str(connection.scalar(sa.text("SELECT version_num FROM alembic_version")))


def _rows(connection: sa.Connection, jobs: JobEngine, target: Path, keys: set[str]) -> Iterator[tuple[str, Section]]:
    def note(_column: str, value: object) -> None:
        if value:
            keys.add(str(value).partition(":")[0])

    for table in tables.tables_of(connection, jobs):
        written = json_lines.write_all(table_path(target, table.name), tables.lines_of(connection, table, note))
        yield table.name, written


def _missing(target: Path, sections: dict[str, Section]) -> list[str]:
    """Return the keys of stored assets without a copy, limited to the first ones."""
    name = MediaAsset.__tablename__
    columns = sorted(column.name for column in MediaAsset.__table__.columns)
    key, stored_at = columns.index("key"), columns.index("stored_at")
    rows = map(orjson.loads, json_lines.read_all(table_path(target, name), sections[name]))
    absent = [row[key] for row in rows if row[stored_at] and not objects.has(target, row[key])]
    return absent[:MAX_MISSING_LISTED]
