"""`flask backup` and `flask restore`: the stored data of the service as one folder."""

from pathlib import Path

import click
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from flask import current_app
from flask.cli import with_appcontext
from flask_migrate import upgrade

from app.backup import manifest as backup_manifest
from app.backup import restore as backup_restore
from app.backup import restore as backup_verify
from app.backup.manifest import BackupError, Manifest
from app.backup.save import BackupSources, save
from app.extensions import db, drivers
from app.security.private_files import private_umask
from app.settings.groups import PROJECT

MIGRATIONS = PROJECT / "migrations"
FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("backup")
@click.argument("target", type=FOLDER)
@with_appcontext
def backup(target: Path) -> None:
    """Save rows, waiting jobs, media and local repositories to the folder TARGET. The service can run."""
    with private_umask():
        manifest = save(_service(), target)
    click.echo(f"Saved {_format_counts(manifest)}.")
    if manifest.keys:
        click.echo(
            f"The secrets in it are encrypted with {', '.join(manifest.keys)}. "
            "Store ENCRYPTION_KEYS in another location."
        )
    if manifest.missing:
        raise click.ClickException(
            f"The object store does not contain {', '.join(manifest.missing[:5])}, to which rows refer."
        )


@click.command("restore")
@click.argument("source", type=FOLDER)
@click.option("--verify", is_flag=True, help="Read all data after the restore and compare the hashes.")
@with_appcontext
def restore(source: Path, verify: bool) -> None:
    """Restore the backup in SOURCE to an empty database, the object store and the folder of the repositories."""
    service = _service()
    manifest = backup_manifest.read(source)
    _check_revision(manifest.revision)
    backup_restore.check_keys(manifest, [name for name, _ in current_app.config["SETTINGS"].security.encryption_keys])
    if backup_restore.check_empty(service, manifest):
        upgrade(directory=str(MIGRATIONS), revision=manifest.revision)
    backup_restore.restore(service, source, manifest)
    differing = list(backup_verify.differences(service, source, manifest)) if verify else []
    upgrade(directory=str(MIGRATIONS))
    backup_restore.rebuild(service, manifest)
    # `make run` prints these sign-ins. The restored accounts have their own passwords.
    for note in current_app.config["SETTINGS"].server.instance_dir.glob("demo-*.txt"):
        note.unlink()
    click.echo(f"Restored {_format_counts(manifest)}.")
    for line in differing:
        click.echo(line)
    if differing:
        raise click.ClickException("The restored data differ from the backup.")
    if verify:
        click.echo("Rows, media and repositories equal the backup.")


def _service() -> BackupSources:
    git = drivers.git
    bundles = git.local.bundles if git.local is not None else None
    return BackupSources(db.engine.url, current_app.extensions["jobs"], drivers.storage, bundles)


def _check_revision(revision: str) -> None:
    try:
        ScriptDirectory(str(MIGRATIONS)).get_revision(revision)
    except CommandError as error:
        raise BackupError(
            f"This version does not know the schema {revision} of the backup. Restore with the version that created it."
        ) from error


def _format_counts(manifest: Manifest) -> str:
    rows = sum(section.lines for section in manifest.tables.values())
    counts = (
        (rows, "row", "rows"),
        (manifest.jobs.lines, "waiting job", "waiting jobs"),
        (manifest.objects.lines, "media object", "media objects"),
        (manifest.repositories.lines, "repository", "repositories"),
    )
    return ", ".join(f"{count} {singular if count == 1 else several}" for count, singular, several in counts)
