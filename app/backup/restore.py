"""Restore of a backup to an empty database, the object store and the folder of the repositories.

Repositories and objects are restored first, and can be restored twice. The rows follow in one transaction, so an
interrupted restore can be started again.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import sqlalchemy as sa

from app.backup import connections, objects, repositories, tables
from app.backup.json_lines import LineDigest, read_all
from app.backup.manifest import BackupError, Manifest
from app.backup.save import BackupSources, section_path, table_path
from app.core.jobs import JobCall
from app.models.content_search import ContentField, ContentLink, ContentShape, ContentText
from app.models.project_content import ContentIndex

DIALECT_ONLY_TABLES = frozenset(table.__tablename__ for table in (ContentText, ContentLink, ContentField, ContentShape))
"""Tables of texts, with a format of one dialect. For another dialect they are rebuilt from the repositories."""


def check_keys(manifest: Manifest, names: Sequence[str]) -> None:
    """Check that the secrets of the backup can be decrypted.

    Raises:
        BackupError: ENCRYPTION_KEYS does not contain a required key.
    """
    if missing := sorted(set(manifest.keys) - set(names)):
        raise BackupError(
            f"Secrets in this backup are encrypted with {', '.join(missing)}. "
            "Add the key to ENCRYPTION_KEYS, or copy the files encryption_keys and secret_key from the "
            "instance folder of the saved installation to INSTANCE_DIR."
        )


def check_empty(service: BackupSources, manifest: Manifest) -> bool:
    """Return whether the database has no schema.

    Raises:
        BackupError: the database contains rows, or a schema of another revision than the backup.
    """
    with connections.reading(service.url) as connection:
        if not sa.inspect(connection).has_table(tables.ALEMBIC):
            if sa.inspect(connection).get_table_names():
                raise BackupError("This database contains tables of another application. Use an empty database.")
            return True
        revision = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
        filled = tables.first_nonempty(connection, tables.tables_of(connection, service.jobs))
    if filled:
        raise BackupError(f"This database is not empty: {filled} contains rows. Use an empty database.")
    if revision != manifest.revision:
        raise BackupError(
            f"The schema of this database is {revision}, that of the backup {manifest.revision}. "
            "Use a database without tables."
        )
    return False


def restore(service: BackupSources, source: Path, manifest: Manifest) -> None:
    """Restore all data. The database must have the schema of the backup and no rows.

    Raises:
        BackupError: the backup is damaged, or a different repository exists. The database stays empty.
        DriverError: the object store cannot be written.
    """
    listed = read_all(section_path(source, repositories.FOLDER), manifest.repositories)
    if service.bundles is not None:
        repositories.restore(service.bundles, source, listed)
    elif manifest.repositories.lines:
        raise BackupError("The backup contains local repositories. Set GIT_LOCAL=on to restore them.")
    objects.restore(service.store, source, read_all(section_path(source, objects.FOLDER), manifest.objects))
    try:
        _restore_rows(service, source, manifest)
    except sa.exc.IntegrityError as error:
        raise BackupError("Rows of the backup refer to missing rows. The backup was changed.") from error


def excluded_tables(manifest: Manifest, store: str) -> frozenset[str]:
    """Return the tables that are not restored to a database of this dialect."""
    return frozenset() if manifest.store == store else DIALECT_ONLY_TABLES


def rebuild(service: BackupSources, manifest: Manifest) -> None:
    """Enqueue jobs that rebuild the excluded tables, and update the statistics of PostgreSQL."""
    with connections.writing(service.url) as connection:
        if excluded_tables(manifest, connection.dialect.name):
            connection.execute(sa.update(ContentIndex).values(described_sha=None, shaped_sha=None))
            for index_id in connection.scalars(sa.select(ContentIndex.id).where(ContentIndex.commit_sha.is_not(None))):
                service.jobs.defer(connection, JobCall("content.describe", {"index_id": index_id}))
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("ANALYZE")


def _restore_rows(service: BackupSources, source: Path, manifest: Manifest) -> None:
    with connections.write_deferred(service.url) as connection:
        database_tables = tables.tables_of(connection, service.jobs)
        _check_tables(database_tables, manifest)
        for table in database_tables:
            if table.name not in excluded_tables(manifest, connection.dialect.name):
                tables.fill(connection, table, read_all(table_path(source, table.name), manifest.tables[table.name]))
        tables.set_sequences(connection, database_tables)
        tables.enqueue_calls(connection, service.jobs, read_all(section_path(source, "jobs"), manifest.jobs))


def _check_tables(database_tables: Sequence[sa.Table], manifest: Manifest) -> None:
    if {table.name for table in database_tables} != set(manifest.tables):
        raise BackupError("The tables of the backup are not those of its schema. The backup was changed.")


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
