"""The `flask` commands."""

from flask import Flask

from app.cli.accounts import organization, token, user
from app.cli.backup import backup, restore
from app.cli.billing import billing
from app.cli.commands import wrap_command
from app.cli.doctor import doctor
from app.cli.operation import config, database, jobs, keys, worker
from app.cli.projects import git, index, project
from app.cli.seed import seed
from app.cli.storage import storage

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
            storage,
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
