"""Updates and deletion of indexes when projects and branches change."""

from app.models.project import Project
from app.models.project_content import IndexStatus
from app.resources.project.events import branch_deleted, branch_moved, project_connected, project_deleting
from app.resources.project_content.index import indexes, indexing


@project_connected.subscribe
def queue_index(project: Project) -> None:
    """Index the connected branch of a project and delete its other indexes."""
    indexes.drop(project)
    if project.repository and project.branch:
        indexes.ensure(project.id, project.branch)


@branch_moved.subscribe
def follow_branch(project: Project, branch: str, head: str) -> None:
    """Mark the index of a moved branch as stale and enqueue its update."""
    index = indexes.find(project.id, branch)
    if index is not None and index.commit_sha != head:
        if index.status == IndexStatus.READY:
            index.status = IndexStatus.STALE
        indexing.enqueue(index, priority=10)


@branch_deleted.subscribe
def delete_branch_index(project: Project, branch: str) -> None:
    """Delete the index of a deleted branch."""
    indexes.delete_branch(project, branch)


@project_deleting.subscribe
def delete_indexes(project: Project) -> None:
    """Delete the indexes of a project and enqueue the deletion of their files."""
    indexes.drop(project)
