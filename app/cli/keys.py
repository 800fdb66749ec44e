"""`flask keys`: rotation of the encryption keys."""

import click
from flask.cli import AppGroup

from app.extensions import keyring
from app.resources.git_provider.token_encryption import rekey

keys = AppGroup("keys", help="Encryption keys.")


@keys.command("rotate")
def rotate() -> None:
    """Encrypt every stored secret with the first key of ENCRYPTION_KEYS.

    It can be stopped, repeated and run under load.
    """
    result = rekey(keyring)
    click.echo(f"{result.rows} rows were encrypted with the first key.")
    if result.unreadable:
        raise click.ClickException(
            f"These rows cannot be decrypted with the configured keys: {', '.join(result.unreadable)}"
        )
