"""Users that the operator names by their e-mail address."""

import click
import sqlalchemy as sa

from app.core.emails import InvalidEmail, email_key
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
