"""Commands of projects: local repositories, projects and content indexes."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from flask import current_app
from flask.cli import AppGroup

from app.cli.commands import checked_name
from app.core.ids import is_id
from app.core.limits import TextLengths
from app.database import transactions
from app.drivers.errors import DriverError
from app.drivers.git.hosts import LocalHost
from app.extensions import db, drivers
from app.models.organization import Organization
from app.models.project import LocalRepository, Project, Provider
from app.models.user import User
from app.resources.project import service as projects
from app.resources.project.repository_access import BranchRef, detect_site, verify_access
from app.resources.project.service import hand_over_repository
from app.resources.project_content.index import indexes
from app.resources.project_content.index.index_health import differences
from app.resources.project_content.source import source_of

URL = re.compile(r"(?:https?|ssh|git|file)://|[\w.-]+@[\w.-]+:")
CLONE_TIMEOUT_S = 600
MANUAL_PACKING_S = 86_400.0

git = AppGroup("git", help="Local repositories.")


@git.command("create")
@click.argument("name", metavar="OWNER/NAME")
@click.option(
    "--org",
    "org_id",
    default=None,
    metavar="ORG_ID",
    help="Organization of the repository. Default: the first that connects it.",
)
@click.option(
    "--from",
    "source",
    default=None,
    metavar="PATH|URL",
    help="Folder, repository or clone URL with the first content.",
)
def create_repository(name: str, org_id: str | None, source: str | None) -> None:
    """Create the bare repository OWNER/NAME."""
    if org_id is not None:
        organization_of(org_id)
    if db.session.get(LocalRepository, name) is not None:
        raise click.ClickException(f"The repository {name} already belongs to an organization. Use `flask git assign`.")
    with transactions.outside_transaction(), source_folder(source) as folder:
        repository = host().create(name, source=folder)
    if org_id is not None:
        with transactions.write_transaction():
            hand_over_repository(repository.full_name, org_id)
    click.echo(f"Created {repository.full_name}{f' for {org_id}' if org_id else ''}.")
    click.echo(
        f"Next: flask project create {repository.full_name} --org {org_id or 'ORG_ID'} "
        f"--branch {repository.default_branch}"
    )


@git.command("assign")
@click.argument("name", metavar="OWNER/NAME")
@click.option("--org", "org_id", required=True, metavar="ORG_ID", help="New organization of the repository.")
def assign(name: str, org_id: str) -> None:
    """Assign the repository OWNER/NAME to an organization."""
    organization_of(org_id)
    with transactions.outside_transaction():
        host().open(name).facts()
    with transactions.write_transaction():
        hand_over_repository(name, org_id)
    click.echo(f"{name} belongs to {org_id}.")


@git.command("pack")
@click.argument("name", metavar="OWNER/NAME")
def pack(name: str) -> None:
    """Pack the repository OWNER/NAME while the service runs, without the time limit of the job."""
    try:
        is_packed = host().open(name).repack(timeout_s=MANUAL_PACKING_S)
    except DriverError as error:
        raise click.ClickException(f"{name} cannot be packed: {error}") from error
    click.echo(f"Packed {name}." if is_packed else f"{name} is being packed by the service.")


def host() -> LocalHost:
    """Return the local provider.

    Raises:
        ClickException: the local provider is disabled.
    """
    local: LocalHost | None = drivers.git.local
    if local is None:
        raise click.ClickException("Local repositories are disabled. Set GIT_LOCAL=on.")
    return local


def organization_of(org_id: str) -> Organization:
    """Return an organization.

    Raises:
        ClickException: it does not exist.
    """
    organization = db.session.get(Organization, org_id) if is_id(org_id, "org") else None
    if organization is None:
        raise click.ClickException(f"There is no organization {org_id}. `flask organization list` lists all.")
    return organization


@contextmanager
def source_folder(source: str | None, timeout_s: float = CLONE_TIMEOUT_S) -> Iterator[Path | None]:
    """Yield the folder of a source. A URL is cloned into a temporary folder first."""
    if source is None or not URL.match(source):
        if source is not None and not Path(source).is_dir():
            raise click.ClickException(f"There is no folder {source}.")
        yield None if source is None else Path(source)
        return
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "clone.git")
        command = ["git", "clone", "--quiet", "--bare", "--", source, str(target)]
        environment = os.environ | {"GIT_TERMINAL_PROMPT": "0"}
        try:
            done = subprocess.run(
                command, check=False, capture_output=True, text=True, timeout=timeout_s, env=environment
            )
        except subprocess.TimeoutExpired as error:
            raise click.ClickException(f"The clone did not end within {timeout_s} s.") from error
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or ["git failed"]
            raise click.ClickException(f"The repository cannot be cloned: {lines[-1]}")
        yield target


project = AppGroup("project", help="Projects.")


@project.command("create")
@click.argument("repository", metavar="OWNER/NAME")
@click.option("--org", "org_id", required=True, metavar="ORG_ID", help="Organization of the project.")
@click.option("--branch", default="main", show_default=True, help="Working branch.")
@click.option(
    "--name",
    default=None,
    callback=checked_name(TextLengths.PROJECT_NAME),
    help="Name of the project. Default: the name of the repository.",
)
@click.option(
    "--provider",
    default="local",
    show_default=True,
    type=click.Choice([str(provider) for provider in Provider]),
    help="Git host. The credential of the owner of the organization is used.",
)
def create_project(repository: str, org_id: str, branch: str, name: str | None, provider: str) -> None:
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


index = AppGroup("index", help="Content indexes of projects.")


@index.command("verify")
@click.argument("project_id")
@click.option("--branch", default=None, help="Branch. Default: the working branch.")
def verify(project_id: str, branch: str | None) -> None:
    """Compare the index of PROJECT_ID with its repository. Exits with 1 and lists the files if they differ."""
    project = db.session.get(Project, project_id) if is_id(project_id, "prj") else None
    if project is None:
        raise click.ClickException(f"There is no project {project_id}.")
    row = indexes.find(project.id, branch or project.branch)
    if row is None or row.commit_sha is None:
        raise click.ClickException("This branch has no index.")
    source = source_of(project, drivers.git, branch=branch)
    lines = list(differences(row, source))
    for line in lines:
        click.echo(line)
    if lines:
        raise click.exceptions.Exit(1)
    click.echo(f"{row.files} files of {row.branch} at {row.commit_sha}: the index equals the repository.")
