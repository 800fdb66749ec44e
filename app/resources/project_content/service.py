"""What the routes of project content call, one function each; the work is in the modules beside this one."""

from app.models.project import Project
from app.models.project_content import IndexStatus
from app.resources.project_content import indexes, indexing
from app.resources.project_content.source import Disconnected


def reindex(project: Project) -> dict[str, str | None]:
    """Ask for a fresh look at the working branch. Raises Disconnected where there is none."""
    if not project.repository:
        raise Disconnected
    index = indexes.ensure(project, project.branch)
    if index.status == IndexStatus.FAILED:
        index.status = IndexStatus.QUEUED
    return {"job_id": indexing.ask(index, priority=10), "status": str(index.status)}
