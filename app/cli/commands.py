"""The frame of all commands, and checks of their arguments.

Commands start in READING, and an expected error is one sentence and exit code 1. Only a defect shows a traceback.
"""

import functools
from collections.abc import Callable

import click
import sqlalchemy as sa
from flask.cli import with_appcontext

from app.backup.manifest import BackupError
from app.core.emails import InvalidEmail, email_key
from app.core.errors import AppError
from app.core.names import name_error
from app.database import transactions
from app.database.errors import error_message, is_missing_schema
from app.drivers.errors import DriverError
from app.extensions import db
from app.models.user import User
from app.observability.masking import mask_credentials


def wrap_command(command: click.Command) -> click.Command:
    """Wrap a command, or each command of a group: it starts in READING, and expected errors end with one sentence."""
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            wrap_command(subcommand)
    elif command.callback is not None:
        command.callback = _with_error_output(_start_reading(command.callback))
    return command


def _start_reading(callback: Callable[..., object]) -> Callable[..., object]:
    @with_appcontext
    @functools.wraps(callback)
    def run(*args: object, **kwargs: object) -> object:
        transactions.start_reading()
        return callback(*args, **kwargs)

    return run


def _with_error_output(callback: Callable[..., object]) -> Callable[..., object]:
    @functools.wraps(callback)
    def run(*args: object, **kwargs: object) -> object:
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


def email_key_of(email: str) -> str:
    """Return the key of an e-mail address. Raises ClickException for another text."""
    try:
        return email_key(email.strip())
    except InvalidEmail as error:
        raise click.ClickException(f"{email} is not an e-mail address.") from error


def account_of(email: str) -> User:
    """Return the user with an e-mail address. Raises ClickException."""
    account = db.session.scalar(sa.select(User).where(User.email_key == email_key_of(email)))
    if account is None:
        raise click.ClickException(f"There is no user with the e-mail {email}.")
    return account


def checked_name(max_length: int) -> Callable[[click.Context, click.Parameter, str | None], str | None]:
    """Return a callback that strips a name and raises `BadParameter` for a name that the API refuses."""

    def check(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
        if value is None:
            return None
        name = value.strip()
        if fault := name_error(name):
            raise click.BadParameter(fault)
        if len(name) > max_length:
            raise click.BadParameter(f"Must have at most {max_length} characters.")
        return name

    return check
