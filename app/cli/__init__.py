"""The `flask` commands."""

from flask import Flask

from app.cli.config import config
from app.cli.user import user
from app.cli.worker import worker

COMMANDS = (config, user, worker)


def register(app: Flask) -> None:
    """Add every command to the application's own."""
    for command in COMMANDS:
        app.cli.add_command(command)
