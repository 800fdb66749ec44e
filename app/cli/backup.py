"""`flask backup` and `flask restore`: everything the service keeps, as one folder, and back."""

from pathlib import Path

import click
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from flask import current_app
from flask.cli import with_appcontext
from flask_migrate import upgrade

from app.backup import manifest as manifests
from app.backup import restoring, verifying
from app.backup.manifest import BackupError, Manifest
from app.backup.saving import Service, save
from app.core.settings import PROJECT
from app.extensions import db, drivers

MIGRATIONS = PROJECT / "migrations"
FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("backup")
@click.argument("target", type=FOLDER)
@with_appcontext
def backup(target: Path) -> None:
    """Save rows, waiting jobs, media and local repositories into the folder TARGET, while the service runs."""
    made = save(_service(), target)
    click.echo(f"Saved {_told(made)}.")
    if made.keys:
        click.echo(f"Secrets in it stay sealed with {', '.join(made.keys)}: keep ENCRYPTION_KEYS elsewhere.")
    if made.missing:
        raise click.ClickException(f"The object store lacks {', '.join(made.missing[:5])}, which rows speak of.")


@click.command("restore")
@click.argument("source", type=FOLDER)
@click.option("--verify", is_flag=True, help="Read everything back afterwards and compare its hashes.")
@with_appcontext
def restore(source: Path, verify: bool) -> None:
    """Fill an empty database, the media store and the repositories' folder from the backup in SOURCE."""
    service = _service()
    made = manifests.read(source)
    _check_revision(made.revision)
    restoring.check_keys(made, [name for name, _ in current_app.config["SETTINGS"].security.encryption_keys])
    if restoring.check_empty(service, made):
        upgrade(directory=str(MIGRATIONS), revision=made.revision)
    restoring.restore(service, source, made)
    differing = list(verifying.differences(service, source, made)) if verify else []
    upgrade(directory=str(MIGRATIONS))
    restoring.rebuild(service, made)
    click.echo(f"Restored {_told(made)}.")
    for line in differing:
        click.echo(line)
    if differing:
        raise click.ClickException("What was restored is not what was saved.")
    if verify:
        click.echo("Rows, media and repositories equal the backup.")


def _service() -> Service:
    git = drivers["git"]
    bundles = git.local.bundles if git.local is not None else None
    return Service(db.engine.url, current_app.extensions["jobs"], drivers["storage"], bundles)


def _check_revision(revision: str) -> None:
    try:
        ScriptDirectory(str(MIGRATIONS)).get_revision(revision)
    except CommandError as error:
        raise BackupError(f"The backup's schema {revision} is unknown here; it was made by a newer version.") from error


def _told(made: Manifest) -> str:
    rows = sum(section.lines for section in made.tables.values())
    counts = ((made.jobs, "waiting jobs"), (made.objects, "media objects"), (made.repositories, "repositories"))
    return ", ".join([f"{rows} rows", *(f"{section.lines} {what}" for section, what in counts)])
