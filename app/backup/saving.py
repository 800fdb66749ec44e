"""Writing a backup while the service runs.

Objects are copied before the rows and once more after them, so that whatever the rows speak of is there; repositories
come last, since their branches only grow: an index catches up with them by itself.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import sqlalchemy as sa

from app.backup import calls, lines, objects, repositories, snapshot, tables
from app.backup.lines import LineWriter
from app.backup.manifest import BackupError, Manifest, Section
from app.core import clock
from app.drivers.git.bundles import Bundles
from app.drivers.jobs.port import JobEngine
from app.drivers.storage.port import ObjectStore
from app.models.media import MediaAsset

MISSING_TOLD = 100
OWNER_ONLY = 0o700


@dataclass(frozen=True)
class Service:
    """What a backup is made of and put back into; `bundles` is None where there are no local repositories."""

    url: sa.URL
    jobs: JobEngine
    store: ObjectStore
    bundles: Bundles | None


def place_of(folder: Path, name: str) -> Path:
    """Where a section's lines are."""
    return folder / f"{name}.jsonl.zst"


def save(service: Service, target: Path) -> Manifest:
    """Write a backup into a folder that is empty or not there.

    Raises:
        BackupError: the folder holds something or cannot be written, or the database is not migrated.
        DriverError: the object store or a repository cannot be read now.
    """
    _prepare(target)
    try:
        return _save(service, target)
    except OSError as error:
        told = f"{target} cannot be written: {error.strerror}. What is in it is no backup; remove it."
        raise BackupError(told) from error


def _save(service: Service, target: Path) -> Manifest:
    keys: set[str] = set()
    with LineWriter(place_of(target, objects.FOLDER)) as copied:
        objects.save(service.store, target, copied)
        with snapshot.reading(service.url) as connection:
            store, revision = connection.dialect.name, _revision(connection)
            sections = dict(_rows(connection, service.jobs, target, keys))
            queue = lines.write_all(place_of(target, "jobs"), calls.lines_of(connection, service.jobs))
            made_at = clock.now().isoformat()
        objects.save(service.store, target, copied)
    with LineWriter(place_of(target, repositories.FOLDER)) as bundled:
        if service.bundles is not None:
            repositories.save(service.bundles, target, bundled)
    made = Manifest(
        made_at=made_at,
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
    made.write(target)
    os.sync()
    return made


def table_place(folder: Path, name: str) -> Path:
    """Where a table's lines are."""
    return place_of(folder / "tables", name)


def _prepare(target: Path) -> None:
    try:
        target.mkdir(mode=OWNER_ONLY, parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise BackupError(f"{target} is not empty; name a folder that is, or is not there yet.")
    except OSError as error:
        raise BackupError(f"{target} cannot be used: {error.strerror}.") from error


def _revision(connection: sa.Connection) -> str:
    if not sa.inspect(connection).has_table(tables.ALEMBIC):
        raise BackupError("The database is not migrated; there is nothing to save.")
    return str(connection.scalar(sa.text("SELECT version_num FROM alembic_version")))


def _rows(connection: sa.Connection, jobs: JobEngine, target: Path, keys: set[str]) -> Iterator[tuple[str, Section]]:
    def note(_column: str, sealed: Any) -> None:
        if sealed:
            keys.add(str(sealed).partition(":")[0])

    for table in tables.tables_of(connection, jobs):
        written = lines.write_all(table_place(target, table.name), tables.lines_of(connection, table, note))
        yield table.name, written


def _missing(target: Path, sections: dict[str, Section]) -> list[str]:
    """The keys of stored assets that have no copy, the first of them."""
    name = MediaAsset.__tablename__
    columns = sorted(column.name for column in MediaAsset.__table__.columns)
    key, stored_at = columns.index("key"), columns.index("stored_at")
    rows = map(orjson.loads, lines.read_all(table_place(target, name), sections[name]))
    absent = [row[key] for row in rows if row[stored_at] and not objects.has(target, row[key])]
    return absent[:MISSING_TOLD]
