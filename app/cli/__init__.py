"""The `flask` commands."""

from flask import Flask

from app.cli.backup import backup, restore
from app.cli.billing import billing
from app.cli.commands import wrap_command
from app.cli.config import config
from app.cli.database import database
from app.cli.doctor import doctor
from app.cli.git import git
from app.cli.index import index
from app.cli.jobs import jobs
from app.cli.keys import keys
from app.cli.organization import organization
from app.cli.project import project
from app.cli.seed import seed
from app.cli.token import token
from app.cli.user import user
from app.cli.worker import worker

COMMANDS = tuple(
    map(
        wrap_command,
        (
            backup,
            billing,
            config,
            database,
            doctor,
            git,
            index,
            jobs,
            keys,
            organization,
            project,
            restore,
            seed,
            token,
            user,
            worker,
        ),
    )
)


def register(app: Flask) -> None:
    """Add every command to the application's own."""
    for command in COMMANDS:
        app.cli.add_command(command)
