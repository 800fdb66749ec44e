"""Commands of accounts: users, their API tokens, and the list of organizations."""

import secrets
import sys
from datetime import timedelta

import click
import sqlalchemy as sa
from flask.cli import AppGroup

from app.cli.commands import account_of, checked_name, email_key_of
from app.core import clock
from app.core.api_tokens import TokenScope
from app.core.errors import NotFound
from app.core.limits import TextLengths, TokenLimits
from app.database.transactions import savepoint, write_transaction
from app.extensions import current_settings, db
from app.models.login import ApiToken
from app.models.organization import Membership, Organization
from app.models.project import Project
from app.models.user import User
from app.resources.api_token import service as api_tokens
from app.resources.api_token.schemas import status_of
from app.resources.auth import service
from app.resources.auth.two_factor import service as second_factors
from app.resources.user import passwords, sessions
from app.resources.user.events import password_reset
from app.resources.user.locks import lock_user
from app.resources.user.service import list_users
from app.security.passwords import hash_password, password_error

user = AppGroup("user", help="Accounts.")
MAX_DAYS = TokenLimits.absolute_s // 86_400


@user.command("create")
@click.argument("email")
@click.option("--name", default="", help="Name of the person. Default: the part of EMAIL before the @.")
@click.option("--admin", is_flag=True, help="Make the user a platform admin.")
@click.option("--password-stdin", is_flag=True, help="Read the password from the standard input.")
def create_user(email: str, name: str, admin: bool, password_stdin: bool) -> None:
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


@user.command("reset-second-factor")
@click.argument("email")
def reset_second_factor(email: str) -> None:
    """Remove the second factor and the passkeys of the user EMAIL, who lost them, and end all sessions."""
    link = f"{current_settings().server.web_url}/sign-in"
    with write_transaction():
        account = lock_user(account_of(email).id)
        if not second_factors.remove(account, link=link, with_passkeys=True):
            raise click.ClickException(f"{account.email} has no second factor.")
        sessions.end_all(account.id)
    click.echo(f"{account.email} has no second factor any longer. All sessions of the user have ended.")


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


token = AppGroup("token", help="API tokens and service accounts.")


@token.command("create")
@click.argument("email")
@click.option("--name", required=True, callback=checked_name(TextLengths.TOKEN_NAME), help="The name of the token.")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice([scope.value for scope in TokenScope]),
    multiple=True,
    required=True,
    help="May be repeated.",
)
@click.option("--project", "projects", multiple=True, help="A permitted project; may be repeated. The default is all.")
@click.option("--organization", help="The organization of a service account.")
@click.option("--days", type=click.IntRange(1, MAX_DAYS), help="The lifetime. The default is 90 days.")
def create_token(
    email: str,
    name: str,
    scopes: tuple[str, ...],
    projects: tuple[str, ...],
    organization: str | None,
    days: int | None,
) -> None:
    """Create a token of the user with the e-mail address EMAIL and print its secret, which is shown only once."""
    expires_at = clock.now() + timedelta(days=days) if days else None
    with write_transaction():
        values = api_tokens.TokenValues(
            name=name,
            scopes=[TokenScope(scope) for scope in scopes],
            projects=list(projects) or None,
            expires_at=expires_at,
        )
        issued = api_tokens.create(
            values,
            by=account_of(email),
            organization=_organization(organization),
            limits=current_settings().limits.tokens,
        )
        row_id, secret = issued.row.id, issued.secret
    click.echo(f"Created {row_id}.", err=True)
    click.echo(secret)


@token.command("list")
@click.option("--user", "email", help="Only tokens of the user with this e-mail address.")
def list_tokens(email: str | None) -> None:
    """List all tokens: id, owner, organization, status, scopes, expiry, last use and name."""
    statement = sa.select(ApiToken, User.email).join(User, User.id == ApiToken.user_id).order_by(ApiToken.id)
    if email is not None:
        statement = statement.where(User.id == account_of(email).id)
    rows = db.session.execute(statement).all()
    for row, owner in rows:
        used = clock.iso(row.last_used_at) if row.last_used_at else "never used"
        rights = (row.organization_id or "-", status_of(row), ",".join(row.scopes))
        click.echo("  ".join((row.id, owner, *rights, clock.iso(row.expires_at), used, row.name)))
    if not rows:
        click.echo("There is no API token.", err=True)


@token.command("rotate")
@click.argument("token_id")
def rotate(token_id: str) -> None:
    """Replace the secret of the token TOKEN_ID and print the new one. The owner stays."""
    with write_transaction():
        row = _token(token_id)
        owner, organization = db.session.get_one(User, row.user_id), _organization(row.organization_id)
        limits = current_settings().limits.tokens
        secret = api_tokens.rotate(row, by=owner, organization=organization, limits=limits).secret
    click.echo(secret)


@token.command("revoke")
@click.argument("token_id")
def revoke(token_id: str) -> None:
    """Delete the token TOKEN_ID. It is invalid from now on."""
    with write_transaction():
        api_tokens.delete(_token(token_id))
    click.echo(f"{token_id} is deleted.")


def _organization(organization_id: str | None) -> Organization | None:
    if organization_id is None:
        return None
    organization = db.session.get(Organization, organization_id)
    if organization is None:
        raise NotFound("Organization not found")
    return organization


def _token(token_id: str) -> ApiToken:
    row = db.session.get(ApiToken, token_id)
    if row is None:
        raise NotFound("The token does not exist")
    return row


organization = AppGroup("organization", help="Organizations.")


@organization.command("list")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1), help="Largest number of lines.")
def list_organizations(limit: int) -> None:
    """List organizations: id, name, owner, members, projects and status."""
    members = sa.select(sa.func.count()).where(Membership.organization_id == Organization.id).scalar_subquery()
    projects = sa.select(sa.func.count()).where(Project.organization_id == Organization.id).scalar_subquery()
    statement = (
        sa.select(Organization, User.email, members, projects)
        .join(User, User.id == Organization.owner_id)
        .order_by(Organization.id)
        .limit(limit)
    )
    rows = db.session.execute(statement).all()
    for row, owner, member_count, project_count in rows:
        counts = f"members: {member_count}, projects: {project_count}"
        click.echo("  ".join([row.id, row.name, owner, counts, str(row.status)]))
    if not rows:
        click.echo("There is no organization.", err=True)
