"""Comparing what a service holds with a backup: rows, objects and repositories by their hashes."""

from collections.abc import Iterator
from pathlib import Path

from app.backup import objects, repositories, snapshot, tables
from app.backup.lines import Digest, read_all
from app.backup.manifest import Manifest
from app.backup.restoring import left_out
from app.backup.saving import Service, place_of


def differences(service: Service, source: Path, manifest: Manifest) -> Iterator[str]:
    """One line for each table, object and repository that differs; the database has the backup's schema.

    Of the job queue only the number is compared: waiting times have passed since.
    """
    with snapshot.reading(service.url) as connection:
        for table in tables.tables_of(connection, service.jobs):
            if table.name in left_out(manifest, connection.dialect.name):
                continue
            digest = Digest()
            for line in tables.lines_of(connection, table):
                digest.add(line)
            if not digest.matches(manifest.tables[table.name]):
                yield f"table {table.name} differs: {digest.lines} rows, {manifest.tables[table.name].lines} saved"
        waiting = sum(1 for _ in service.jobs.unfinished(connection))
    if waiting != manifest.jobs.lines:
        yield f"jobs differ: {waiting} wait, {manifest.jobs.lines} saved"
    yield from objects.differences(service.store, read_all(place_of(source, objects.FOLDER), manifest.objects))
    if service.bundles is not None:
        listed = read_all(place_of(source, repositories.FOLDER), manifest.repositories)
        yield from repositories.differences(service.bundles, listed)
