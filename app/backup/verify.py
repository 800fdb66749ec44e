"""Comparison of a service with a backup: rows, objects and repositories by their hashes."""

from collections.abc import Iterator
from pathlib import Path

from app.backup import connections, objects, repositories, tables
from app.backup.json_lines import LineDigest, read_all
from app.backup.manifest import Manifest
from app.backup.restore import excluded_tables
from app.backup.save import BackupSources, section_path


def differences(service: BackupSources, source: Path, manifest: Manifest) -> Iterator[str]:
    """Yield a line for each table, object and repository that differs. The database must have the schema of the backup.

    Only the number of job calls is compared, because their remaining delays change.
    """
    with connections.reading(service.url) as connection:
        for table in tables.tables_of(connection, service.jobs):
            if table.name in excluded_tables(manifest, connection.dialect.name):
                continue
            digest = LineDigest()
            for line in tables.lines_of(connection, table):
                digest.add(line)
            if not digest.matches(manifest.tables[table.name]):
                yield f"table {table.name} differs: {digest.lines} rows, {manifest.tables[table.name].lines} saved"
        waiting = sum(1 for _ in service.jobs.unfinished(connection))
    if waiting != manifest.jobs.lines:
        yield f"jobs differ: {waiting} wait, {manifest.jobs.lines} saved"
    yield from objects.differences(service.store, read_all(section_path(source, objects.FOLDER), manifest.objects))
    if service.bundles is not None:
        listed = read_all(section_path(source, repositories.FOLDER), manifest.repositories)
        yield from repositories.differences(service.bundles, listed)
