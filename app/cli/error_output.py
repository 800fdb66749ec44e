"""Errors of commands: one sentence and exit code 1. Only a defect shows a traceback."""

import functools
from collections.abc import Callable
from typing import Any

import click
import sqlalchemy as sa

from app.backup.manifest import BackupError
from app.core.errors import AppError
from app.database.errors import error_message, is_missing_schema
from app.drivers.errors import DriverError
from app.observability.masking import mask_credentials


def report_errors(command: click.Command) -> click.Command:
    """Wrap a command, or each command of a group, so that expected failures end with one sentence."""
    if isinstance(command, click.Group):
        for each in command.commands.values():
            report_errors(each)
    elif command.callback is not None:
        command.callback = _with_error_output(command.callback)
    return command


def _with_error_output(callback: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(callback)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return callback(*args, **kwargs)
        except (AppError, BackupError, DriverError) as error:
            raise click.ClickException(mask_credentials(str(error))) from error
        except (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.ProgrammingError) as error:
            if is_missing_schema(error):
                raise click.ClickException("Tables of this version are missing. Run flask db upgrade.") from error
            if isinstance(error, sa.exc.ProgrammingError):
                raise
            raise click.ClickException(
                mask_credentials(f"The database cannot be used: {error_message(error)}")
            ) from error
        except PermissionError as error:
            raise click.ClickException(f"{error.filename} cannot be used: {error.strerror}.") from error

    return run
