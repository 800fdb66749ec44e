"""`flask token`: API tokens and service accounts, managed by the operator."""

from datetime import timedelta

import click
import sqlalchemy as sa
from flask.cli import AppGroup

from app.cli.arguments import account_of, checked_name
from app.core import clock
from app.core.api_tokens import TokenScope
from app.core.errors import NotFound
from app.core.limits import TokenLimits
from app.database.transactions import write_transaction
from app.extensions import current_settings, db
from app.models.api_token import ApiToken
from app.models.organization import Organization
from app.models.user import User
from app.resources.api_token import service
from app.resources.api_token.schemas import status_of

NAME_LENGTH = 80
MAX_DAYS = TokenLimits.absolute_s // 86_400

token = AppGroup("token", help="API tokens and service accounts.")


@token.command("create")
@click.argument("email")
@click.option("--name", required=True, callback=checked_name(NAME_LENGTH), help="The name of the token.")
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
def create(
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
        values = service.TokenValues(
            name=name,
            scopes=[TokenScope(scope) for scope in scopes],
            projects=list(projects) or None,
            expires_at=expires_at,
        )
        issued = service.create(
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
def show(email: str | None) -> None:
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
        secret = service.rotate(row, by=owner, organization=organization, limits=limits).secret
    click.echo(secret)


@token.command("revoke")
@click.argument("token_id")
def revoke(token_id: str) -> None:
    """Delete the token TOKEN_ID. It is invalid from now on."""
    with write_transaction():
        service.delete(_token(token_id))
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
