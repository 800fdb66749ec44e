"""`flask git`: the repositories of the `local` provider, and whose they are."""

from pathlib import Path

import click
from flask.cli import AppGroup

from app.core.ids import is_id
from app.drivers.git.hosts import LocalHost
from app.drivers.git.port import RepoRef
from app.extensions import db, drivers
from app.models.organization import Organization
from app.models.project import LocalRepository
from app.resources.project.service import hand_over_repository

git = AppGroup("git", help="Local repositories.")


@git.command("create")
@click.argument("name", metavar="OWNER/NAME")
@click.option("--org", "org_id", default=None, metavar="ORG_ID", help="Whose it is; else the first to connect it.")
@click.option(
    "--from",
    "source",
    default=None,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder or repository to fill it from.",
)
def create(name: str, org_id: str | None, source: Path | None) -> None:
    """Make the bare repository OWNER/NAME."""
    if org_id is not None:
        _check_organization(org_id)
    if db.session.get(LocalRepository, name) is not None:
        raise click.ClickException(f"The repository {name} is an organization's already; use `flask git assign`.")
    made = host().create(name, source=source)
    if org_id is not None:
        hand_over_repository(made.full_name, org_id)
        db.session.commit()
    click.echo(f"{made.full_name} is there{f' and belongs to {org_id}' if org_id else ''}.")


@git.command("assign")
@click.argument("name", metavar="OWNER/NAME")
@click.option("--org", "org_id", required=True, metavar="ORG_ID", help="Whose it becomes.")
def assign(name: str, org_id: str) -> None:
    """Give the repository OWNER/NAME to an organization, whoever had it."""
    _check_organization(org_id)
    host().repository(RepoRef(name))
    hand_over_repository(name, org_id)
    db.session.commit()
    click.echo(f"{name} belongs to {org_id}.")


def host() -> LocalHost:
    """The local provider. Raises ClickException where it is switched off."""
    local: LocalHost | None = drivers["git"].local
    if local is None:
        raise click.ClickException("Local repositories are switched off; set GIT_LOCAL=on.")
    return local


def _check_organization(org_id: str) -> None:
    if not is_id(org_id, "org") or db.session.get(Organization, org_id) is None:
        raise click.ClickException(f"There is no organization {org_id}.")
