"""What other resources' doings mean for the index."""

from app.models.project import Project
from app.models.project_content import IndexStatus
from app.resources.project.events import branch_moved, project_connected, project_deleting
from app.resources.project_content import indexes, indexing, sweeping


@project_connected.subscribe
def queue_index(project: Project) -> None:
    """A repository was connected or changed: index it anew."""
    indexes.drop(project)
    if project.repository and project.branch:
        indexes.ensure(project, project.branch)


@branch_moved.subscribe
def follow_branch(project: Project, branch: str, head: str) -> None:
    """A pull request was merged: the branch's index is behind until it has caught up."""
    index = indexes.find(project, branch)
    if index is not None and index.commit_sha != head:
        if index.status == IndexStatus.READY:
            index.status = IndexStatus.STALE
        indexing.ask(index, priority=10)


@project_deleting.subscribe
def sweep_files(_project: Project) -> None:
    """A project goes: its index by foreign key, the files after it."""
    sweeping.ask()
