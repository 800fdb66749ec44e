"""Reactions of change sets to events of branches, projects and users."""

import sqlalchemy as sa

from app.extensions import db
from app.models.change_set import ChangeSet, ChangeSetReviewer, ChangeSetState
from app.models.organization import Organization
from app.models.project import Project
from app.resources.change_set import notices, service
from app.resources.change_set.events import ChangeSetEvent, change_set_moved
from app.resources.change_set.host_changes import enqueue_follow
from app.resources.change_set.states import OPEN
from app.resources.organization.events import membership_ended
from app.resources.project.events import BranchWriter, branch_deleted, branch_moved, branch_written, project_connected
from app.resources.user.events import user_deleting

user_deleting.subscribe(service.anonymize_creator)


# Built once: each save asks it.
_SETS_ON_BRANCH = (
    sa.select(ChangeSet.id)
    .join(Project, Project.id == ChangeSet.project_id)
    .where(
        Project.provider == sa.bindparam("provider"),
        Project.repository == sa.bindparam("repository"),
        ChangeSet.branch == sa.bindparam("branch"),
        ChangeSet.state.in_([*OPEN, ChangeSetState.PUBLISHING]),
    )
)


@membership_ended.subscribe
def remove_reviewer(organization: Organization, user_id: str) -> None:
    """Remove a former member from the reviewers of the sets of an organization."""
    projects = sa.select(Project.id).where(Project.organization_id == organization.id)
    sets = sa.select(ChangeSet.id).where(ChangeSet.project_id.in_(projects))
    own = sa.delete(ChangeSetReviewer).where(ChangeSetReviewer.user_id == user_id)
    db.session.execute(own.where(ChangeSetReviewer.change_set_id.in_(sets)))


@branch_written.subscribe
def record_author(writer: BranchWriter) -> None:
    """Record a user who wrote to the branch of a set without its routes as an author of the set.

    A publication that fails returns the set to its previous state, so a set that is being published counts as well.
    """
    on_branch = {"provider": writer.provider, "repository": writer.repository, "branch": writer.branch}
    for set_id in db.session.scalars(_SETS_ON_BRANCH, on_branch).all():
        service.add_author(set_id, writer.user_id)


@change_set_moved.subscribe
def store_notices(change_set: ChangeSet, event: ChangeSetEvent) -> None:
    """Store notices of a publication for the people of the set."""
    if event is ChangeSetEvent.PUBLISHED:
        notices.published(change_set)


@branch_moved.subscribe
def follow_branch(project: Project, branch: str, _head: str) -> None:
    """Check the set of a moved branch, or all sets of a moved working branch: one of them may be merged."""
    enqueue_follow(_on_repository(project), sa.or_(ChangeSet.branch == branch, Project.branch == branch))


@branch_deleted.subscribe
def follow_deletion(project: Project, branch: str) -> None:
    """Check the set of a deleted branch."""
    enqueue_follow(_on_repository(project), ChangeSet.branch == branch)


@project_connected.subscribe
def follow_connection(project: Project) -> None:
    """Check the sets of a project that has another repository or working branch."""
    enqueue_follow(ChangeSet.project_id == project.id)


def _on_repository(project: Project) -> sa.ColumnElement[bool]:
    return sa.and_(Project.provider == project.provider, Project.repository == project.repository)
