"""What other resources' doings mean for the index."""

from app.models.project import Project
from app.resources.project.events import project_connected
from app.resources.project_content import indexes


@project_connected.subscribe
def queue_index(project: Project) -> None:
    """A repository was connected or changed: index it anew."""
    indexes.drop(project)
    if project.repository and project.branch:
        indexes.ensure(project, project.branch)
