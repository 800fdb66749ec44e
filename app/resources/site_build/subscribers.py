"""Builds of change sets that are reviewed, and the deletion of objects with their project."""

from app.models.change_set import ChangeSet
from app.models.project import Project
from app.resources.change_set.events import ChangeSetEvent, change_set_changed, change_set_moved
from app.resources.project.events import project_deleting
from app.resources.site_build import service


@change_set_moved.subscribe
def build_submitted(change_set: ChangeSet, event: ChangeSetEvent) -> None:
    """Build a set that is submitted for a review."""
    if event is ChangeSetEvent.SUBMITTED:
        service.build_set_later(change_set.id, is_new=True)


@change_set_changed.subscribe
def build_commit(change_set: ChangeSet) -> None:
    """Build a set again after a commit."""
    if service.has_builds(change_set):
        service.build_set_later(change_set.id)


@project_deleting.subscribe
def delete_objects(project: Project) -> None:
    """Delete the objects of a deleted project. Its rows are deleted with it."""
    service.delete_objects_later(project.id)
