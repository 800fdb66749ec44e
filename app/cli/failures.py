"""What an operator is told of a failure: one sentence and exit code 1; only a fault of ours keeps its traceback."""

import functools
from collections.abc import Callable
from typing import Any

import click
import sqlalchemy as sa

from app.backup.manifest import BackupError
from app.core.database import lacks_schema, told
from app.core.errors import AppError
from app.drivers.errors import DriverError


def telling(command: click.Command) -> click.Command:
    """Let a command, or every command of a group, end with a sentence where something outside of it fails."""
    if isinstance(command, click.Group):
        for each in command.commands.values():
            telling(each)
    elif command.callback is not None:
        command.callback = _telling(command.callback)
    return command


def _telling(callback: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(callback)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return callback(*args, **kwargs)
        except (AppError, BackupError, DriverError) as error:
            raise click.ClickException(str(error)) from error
        except (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.ProgrammingError) as error:
            if lacks_schema(error):
                raise click.ClickException(
                    "The database lacks tables of this version; run flask db upgrade."
                ) from error
            if isinstance(error, sa.exc.ProgrammingError):
                raise
            raise click.ClickException(f"The database cannot be used: {told(error)}") from error
        except PermissionError as error:
            raise click.ClickException(f"{error.filename} cannot be used: {error.strerror}.") from error

    return run
