"""`flask user`: what only an operator may change of an account."""

import click
import sqlalchemy as sa
from flask.cli import AppGroup

from app.core.emails import InvalidEmail, email_key
from app.extensions import db
from app.models.user import User

user = AppGroup("user", help="Accounts.")


@user.command("promote")
@click.argument("email")
@click.option("--undo", is_flag=True, help="Take the right away again.")
def promote(email: str, undo: bool) -> None:
    """Make the user with this EMAIL a platform admin."""
    try:
        key = email_key(email.strip())
    except InvalidEmail as error:
        raise click.ClickException(f"{email} is not an e-mail address.") from error
    found = db.session.scalar(sa.select(User).where(User.email_key == key))
    if found is None:
        raise click.ClickException(f"There is no user with the e-mail {email}.")
    found.is_admin = not undo
    db.session.commit()
    click.echo(f"{found.email} is {'no longer ' if undo else ''}a platform admin.")
