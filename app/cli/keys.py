"""`flask keys`: what is sealed at rest, under which key."""

import click
from flask.cli import AppGroup

from app.extensions import vault
from app.resources.git_provider.rekeying import rekey

keys = AppGroup("keys", help="Encryption keys.")


@keys.command("rotate")
def rotate() -> None:
    """Seal every stored secret with the first key of ENCRYPTION_KEYS; safe to stop, repeat and run under load."""
    told = rekey(vault.ring)
    click.echo(f"{told.rows} rows were sealed with the first key.")
    if told.unreadable:
        raise click.ClickException(f"These cannot be read with the keys given: {', '.join(told.unreadable)}")
