"""`flask config`: the loaded settings."""

import click
from flask import current_app
from flask.cli import AppGroup

config = AppGroup("config", help="Inspect the settings.")


@config.command("check")
def check() -> None:
    """Print the loaded settings, secrets masked."""
    shown = current_app.config["SETTINGS"].masked()
    width = max(map(len, shown))
    for name, value in shown.items():
        click.echo(f"{name:<{width}}  {value}")
