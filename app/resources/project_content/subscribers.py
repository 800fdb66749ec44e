"""Updates and deletion of indexes when projects and branches change."""

from app.content.detect import may_change_site
from app.models.project import Project
from app.models.project_content import IndexStatus
from app.models.project_log import LogAction
from app.resources.project import events
from app.resources.project.events import FilesChanged
from app.resources.project_content.index import indexes, indexing


@events.project_connected.subscribe
def queue_index(project: Project) -> None:
    """Index the connected branch of a project and delete its other indexes."""
    indexes.drop(project)
    if project.repository and project.branch:
        indexes.ensure(project.id, project.branch)


@events.branch_moved.subscribe
def follow_branch(project: Project, branch: str, head: str) -> None:
    """Mark the index of a moved branch as stale and enqueue its update."""
    index, free = indexes.find(project.id, branch), indexes.find_free(project.id, branch)
    if index is not None and index.commit_sha != head:
        if free is not None and free.status == IndexStatus.READY:
            free.status = IndexStatus.STALE
        indexing.enqueue(index, priority=10)


@events.files_changed.subscribe
def detect_site(change: FilesChanged) -> None:
    """Enqueue the detection of the generator if the working branch has other files of generators, or unknown ones."""
    files = change.files
    if change.move is None or (
        files and not any(may_change_site(file.path, is_update=file.action == LogAction.UPDATE) for file in files)
    ):
        return
    indexing.enqueue_detection(change.project_id, change.move)


@events.branch_deleted.subscribe
def delete_branch_index(project: Project, branch: str) -> None:
    """Delete the index of a deleted branch."""
    indexes.delete_branch(project, branch)


@events.project_deleting.subscribe
def delete_indexes(project: Project) -> None:
    """Delete the indexes of a project and enqueue the deletion of their files."""
    indexes.drop(project)
