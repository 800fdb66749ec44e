"""Command arguments: checks that follow the rules of the API, and users by their e-mail address."""

from collections.abc import Callable

import click
import sqlalchemy as sa

from app.core.emails import InvalidEmail, email_key
from app.core.names import name_error
from app.extensions import db
from app.models.user import User


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
