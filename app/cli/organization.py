"""`flask organization`: organizations of the installation."""

import click
import sqlalchemy as sa
from flask.cli import AppGroup

from app.extensions import db
from app.models.organization import Membership, Organization
from app.models.project import Project
from app.models.user import User

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
