"""`flask index`: comparison of a content index with its repository."""

import click
from flask.cli import AppGroup

from app.core.ids import is_id
from app.extensions import db, drivers
from app.models.project import Project
from app.resources.project_content.index import indexes
from app.resources.project_content.index.index_health import differences
from app.resources.project_content.source import source_of

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
