"""`flask project`: projects, created by the operator."""

import click
from flask import current_app
from flask.cli import AppGroup

from app.cli.arguments import checked_name
from app.cli.git import organization_of
from app.database import transactions
from app.extensions import db, drivers
from app.models.project import Provider
from app.models.user import User
from app.resources.project import service as projects
from app.resources.project.repository_access import BranchRef, detect_site, verify_access

NAME_LENGTH = 100

project = AppGroup("project", help="Projects.")


@project.command("create")
@click.argument("repository", metavar="OWNER/NAME")
@click.option("--org", "org_id", required=True, metavar="ORG_ID", help="Organization of the project.")
@click.option("--branch", default="main", show_default=True, help="Working branch.")
@click.option(
    "--name",
    default=None,
    callback=checked_name(NAME_LENGTH),
    help="Name of the project. Default: the name of the repository.",
)
@click.option(
    "--provider",
    default="local",
    show_default=True,
    type=click.Choice([str(provider) for provider in Provider]),
    help="Git host. The credential of the owner of the organization is used.",
)
def create(repository: str, org_id: str, branch: str, name: str | None, provider: str) -> None:
    """Connect the repository OWNER/NAME as a project of an organization."""
    organization = organization_of(org_id)
    owner = db.session.get_one(User, organization.owner_id)
    reference = BranchRef(Provider(provider), repository, None, branch)
    access = verify_access(reference, organization.id, hosts=drivers.git, user=owner)
    kind = detect_site(access, framework=None, generator=None)
    values = {"name": name or repository.rpartition("/")[2], "generator": kind.generator, "framework": kind.framework}
    limits = current_app.config["SETTINGS"].limits
    with transactions.write_transaction():
        created = projects.create(organization, values, access, by=owner, limits=limits)
        project_id = created.id
    click.echo(f"Created {project_id} for {repository}. A worker indexes the branch {branch}.")
