"""Commands of the object store."""

from datetime import timedelta

import click
from flask.cli import AppGroup

from app.core import clock
from app.extensions import drivers
from app.resources.site_build import verification

storage = AppGroup("storage", help="Objects of builds.")
MIN_AGE = timedelta(days=1)
MAX_LINES = 20


@storage.command("verify")
@click.option("--remove", is_flag=True, help="Delete objects without a row that are older than a day.")
def verify(*, remove: bool) -> None:
    """Compare the stored files of builds with their rows. Exit code 1 if an object is missing."""
    store = drivers.storage
    result = verification.compare(store, before=clock.now() - MIN_AGE)
    click.echo(f"{result.objects} objects, {len(result.unreferenced)} without a row, {len(result.missing)} missing.")
    for key in result.unreferenced if remove else ():
        store.delete(key)
    if remove and result.unreferenced:
        click.echo(f"{len(result.unreferenced)} objects were deleted.")
    if result.missing:
        shown = ", ".join(result.missing[:MAX_LINES])
        raise click.ClickException(f"These objects do not exist: {shown}. Delete their builds, and build again.")
