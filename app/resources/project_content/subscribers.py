"""What other resources' doings mean for the index."""

from app.models.project import Project
from app.resources.project.events import project_connected, project_deleting
from app.resources.project_content import indexes, sweeping


@project_connected.subscribe
def queue_index(project: Project) -> None:
    """A repository was connected or changed: index it anew."""
    indexes.drop(project)
    if project.repository and project.branch:
        indexes.ensure(project, project.branch)


@project_deleting.subscribe
def sweep_files(_project: Project) -> None:
    """A project goes: its index by foreign key, the files after it."""
    sweeping.ask()
