"""`flask user`: accounts, created and changed by the operator."""

import secrets
import sys

import click
from flask.cli import AppGroup

from app.cli.arguments import account_of, email_key_of
from app.database.transactions import savepoint, write_transaction
from app.extensions import db
from app.models.user import User
from app.resources.auth import service
from app.resources.user import passwords, sessions
from app.resources.user.directory import list_users
from app.resources.user.events import password_reset
from app.resources.user.locks import lock_user
from app.security.passwords import hash_password, password_error

user = AppGroup("user", help="Accounts.")


@user.command("create")
@click.argument("email")
@click.option("--name", default="", help="Name of the person. Default: the part of EMAIL before the @.")
@click.option("--admin", is_flag=True, help="Make the user a platform admin.")
@click.option("--password-stdin", is_flag=True, help="Read the password from the standard input.")
def create(email: str, name: str, admin: bool, password_stdin: bool) -> None:
    """Create an account with the verified e-mail address EMAIL. Without --password-stdin a password is printed."""
    key, password = email_key_of(email), _password(email, from_stdin=password_stdin)
    account = User(email=email.strip(), email_key=key, name=service.display_name(name, email), email_verified=False)
    account.password_hash, account.is_admin = hash_password(password), admin
    taken = click.ClickException(f"{email} has an account. `flask user reset-password` sets a new password.")
    with write_transaction():
        with savepoint(lambda: taken, User.email_key):
            db.session.add(account)
        service.confirm(account)
    click.echo(f"Created {account.email}{' as a platform admin' if admin else ''}.")
    _print_password(password, from_stdin=password_stdin)


@user.command("reset-password")
@click.argument("email")
@click.option("--password-stdin", is_flag=True, help="Read the password from the standard input.")
def reset_password(email: str, password_stdin: bool) -> None:
    """Set a new password for the user EMAIL, end all sessions and revoke all API tokens of the user."""
    password = _password(email, from_stdin=password_stdin)
    password_hash = hash_password(password)
    with write_transaction():
        account = lock_user(account_of(email).id)
        passwords.set_hash(account, password_hash)
        sessions.end_all(account.id)
        password_reset.publish(account)
    click.echo(f"{account.email} has a new password. All sessions and API tokens of the user have ended.")
    _print_password(password, from_stdin=password_stdin)


@user.command("list")
@click.option("--search", default="", help="Only users whose e-mail address contains this text.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1), help="Largest number of lines.")
def list_accounts(search: str, limit: int) -> None:
    """List users: id, e-mail address, name and state."""
    accounts = list_users(search, limit=limit).users
    for account in accounts:
        states = ["admin"] if account.is_admin else []
        states += [] if account.email_verified else ["unverified"]
        click.echo("  ".join([account.id, account.email, account.name, *states]))
    if not accounts:
        click.echo("There is no such user." if search else "There is no user.", err=True)


@user.command("promote")
@click.argument("email")
@click.option("--undo", is_flag=True, help="Remove the right.")
def promote(email: str, undo: bool) -> None:
    """Make the user with the e-mail address EMAIL a platform admin."""
    with write_transaction():
        account = lock_user(account_of(email).id)
        account.is_admin = not undo
    click.echo(f"{account.email} is {'no longer ' if undo else ''}a platform admin.")


def _password(email: str, *, from_stdin: bool) -> str:
    password = sys.stdin.readline().rstrip("\n") if from_stdin else secrets.token_urlsafe(15)
    if fault := password_error(password, email.strip()):
        raise click.ClickException(f"{fault}.")
    return password


def _print_password(password: str, *, from_stdin: bool) -> None:
    if not from_stdin:
        click.echo(f"Password: {password}")
