"""`flask git`: commands for repositories of the `local` provider and their organizations."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from flask.cli import AppGroup

from app.core.ids import is_id
from app.database import transactions
from app.drivers.errors import DriverError
from app.drivers.git.hosts import LocalHost
from app.drivers.git.port import RepoRef
from app.extensions import db, drivers
from app.models.organization import Organization
from app.models.project import LocalRepository
from app.resources.project.service import hand_over_repository

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
def create(name: str, org_id: str | None, source: str | None) -> None:
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
        host().repository(RepoRef(name))
    with transactions.write_transaction():
        hand_over_repository(name, org_id)
    click.echo(f"{name} belongs to {org_id}.")


@git.command("pack")
@click.argument("name", metavar="OWNER/NAME")
def pack(name: str) -> None:
    """Pack the repository OWNER/NAME while the service runs, without the time limit of the job."""
    try:
        is_packed = host().repack(RepoRef(name), timeout_s=MANUAL_PACKING_S)
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
