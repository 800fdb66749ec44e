"""Filling an empty database, the object store and the repositories' folder from a backup.

Repositories and objects come first and may be put back twice; the rows come last in one transaction, so that a restore
that was cut short is simply started again.
"""

from collections.abc import Sequence
from pathlib import Path

import sqlalchemy as sa

from app.backup import calls, objects, repositories, snapshot, tables
from app.backup.lines import read_all
from app.backup.manifest import BackupError, Manifest
from app.backup.saving import Service, place_of, table_place
from app.core.jobs import JobCall
from app.models.content_search import ContentLink, ContentText
from app.models.project_content import ContentIndex

OF_ONE_STORE = frozenset({ContentText.__tablename__, ContentLink.__tablename__})
"""What each store's search keeps in its own form; between stores it is read from the repositories anew."""


def check_keys(manifest: Manifest, names: Sequence[str]) -> None:
    """Make sure that what is sealed in the backup can be opened.

    Raises:
        BackupError: ENCRYPTION_KEYS lacks a key.
    """
    if lacking := sorted(set(manifest.keys) - set(names)):
        raise BackupError(
            f"Secrets in this backup are sealed with {', '.join(lacking)}; add that key to ENCRYPTION_KEYS."
        )


def check_empty(service: Service, manifest: Manifest) -> bool:
    """Whether the database still needs its schema.

    Raises:
        BackupError: it holds rows, or a schema of another revision than the backup's.
    """
    with snapshot.reading(service.url) as connection:
        if not sa.inspect(connection).has_table(tables.ALEMBIC):
            if sa.inspect(connection).get_table_names():
                raise BackupError("This database holds another application's tables; give an empty one.")
            return True
        revision = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
        filled = tables.first_filled(connection, tables.tables_of(connection, service.jobs))
    if filled:
        raise BackupError(f"This database is not empty: there are rows in {filled}. Restore into an empty one.")
    if revision != manifest.revision:
        raise BackupError(
            f"This database's schema is {revision}, the backup's {manifest.revision}; give a database without tables."
        )
    return False


def restore(service: Service, source: Path, manifest: Manifest) -> None:
    """Put everything back; the database has the backup's schema and no rows.

    Raises:
        BackupError: the backup is damaged, or repositories stand in the way. The database is left empty.
        DriverError: the object store cannot be written now.
    """
    listed = read_all(place_of(source, repositories.FOLDER), manifest.repositories)
    if service.bundles is not None:
        repositories.restore(service.bundles, source, listed)
    elif manifest.repositories.lines:
        raise BackupError("The backup holds local repositories; set GIT_LOCAL=true to restore them.")
    objects.restore(service.store, source, read_all(place_of(source, objects.FOLDER), manifest.objects))
    try:
        _restore_rows(service, source, manifest)
    except sa.exc.IntegrityError as error:
        raise BackupError("Rows of the backup refer to rows that it does not hold; it was changed by hand.") from error


def left_out(manifest: Manifest, store: str) -> frozenset[str]:
    """The tables that are not put back into a database of that dialect."""
    return frozenset() if manifest.store == store else OF_ONE_STORE


def rebuild(service: Service, manifest: Manifest) -> None:
    """Ask for what was left out to be made anew, and let PostgreSQL take stock."""
    with snapshot.writing(service.url) as connection:
        if left_out(manifest, connection.dialect.name):
            connection.execute(sa.update(ContentIndex).values(described_sha=None))
            for index_id in connection.scalars(sa.select(ContentIndex.id).where(ContentIndex.commit_sha.is_not(None))):
                service.jobs.defer(connection, JobCall("content.describe", {"index_id": index_id}))
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("ANALYZE")


def _restore_rows(service: Service, source: Path, manifest: Manifest) -> None:
    with snapshot.filling(service.url) as connection:
        found = tables.tables_of(connection, service.jobs)
        _check_tables(found, manifest)
        for table in found:
            if table.name not in left_out(manifest, connection.dialect.name):
                tables.fill(connection, table, read_all(table_place(source, table.name), manifest.tables[table.name]))
        tables.set_sequences(connection, found)
        calls.fill(connection, service.jobs, read_all(place_of(source, "jobs"), manifest.jobs))


def _check_tables(found: Sequence[sa.Table], manifest: Manifest) -> None:
    if {table.name for table in found} != set(manifest.tables):
        raise BackupError("The backup's tables are not those of its schema; it was changed by hand.")
