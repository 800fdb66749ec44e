"""`flask index`: whether what is served is what is in Git."""

import click
from flask.cli import AppGroup

from app.core.ids import is_id
from app.extensions import db, drivers
from app.models.project import Project
from app.resources.project_content import indexes
from app.resources.project_content.source import source_of
from app.resources.project_content.verify import differences

index = AppGroup("index", help="The index of projects' files.")


@index.command("verify")
@click.argument("project_id")
@click.option("--branch", default=None, help="Another branch than the working one.")
def verify(project_id: str, branch: str | None) -> None:
    """Compare the index of PROJECT_ID with its repository; exit 1 when they differ."""
    project = db.session.get(Project, project_id) if is_id(project_id, "prj") else None
    if project is None:
        raise click.ClickException(f"There is no project {project_id}.")
    found = indexes.find(project, branch or project.branch)
    if found is None or found.commit_sha is None:
        raise click.ClickException("This branch is not indexed yet.")
    told = list(differences(found, source_of(project, drivers["git"], branch=branch)))
    for line in told:
        click.echo(line)
    if told:
        raise click.exceptions.Exit(1)
    click.echo(f"{found.files} files of {found.branch} at {found.commit_sha}: the index equals the repository.")
