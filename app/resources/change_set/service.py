"""Rules of change sets: creation, content, approval, closing, and the mails about them."""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass

import sqlalchemy as sa

from app.core.errors import ErrorMessage, LimitReached
from app.core.ids import HasId
from app.core.outbound import OutsideResource
from app.core.permissions import Role
from app.database.inserts import insert_or_ignore
from app.drivers.errors import DriverError
from app.extensions import current_settings, db
from app.models.change_set import ChangeSet, ChangeSetAuthor, ChangeSetComment, ChangeSetPath, ScheduledAction
from app.models.change_set import ChangeSetState as State
from app.models.project import Project, Publishers
from app.models.user import Actor, User
from app.resources.change_set import queries, schedule, states
from app.resources.change_set.content import Content
from app.resources.change_set.errors import NotApproved, NotPublisher, RevertExists, StaleApproval
from app.resources.change_set.events import change_set_changed
from app.resources.change_set.states import Step
from app.resources.project_content.save_request import FileEdit
from app.resources.project_content.source import Source
from app.resources.user.mail import notify

MAX_OPEN, MAX_TITLE = 200, 200
MAX_PATHS = 1_000
"""The paths of a set that lists of pages know. Only a push can change more files than a commit."""

PUBLISHER_STEPS = frozenset({Step.PUBLISH, Step.SCHEDULE, Step.UNSCHEDULE, Step.SCHEDULE_UNPUBLISH})


@dataclass(frozen=True)
class NewBranch(OutsideResource):
    """The branch of a set that is not stored yet."""

    set_id: str
    source: Source
    sha: str

    def discard(self) -> None:
        """Delete the branch, because the set was refused."""
        with contextlib.suppress(DriverError):
            self.source.repository.delete_branch(self.source.branch)


def check_limit(project: Project) -> None:
    """Refuse a set beyond the limit of a project. Raises LimitReached."""
    if queries.count_open(project.id) >= MAX_OPEN:
        raise LimitReached(ErrorMessage("A project can have at most %(count)s open sets of changes", count=MAX_OPEN))


def create(
    project: Project,
    branch: NewBranch,
    *,
    title: str,
    description: str | None,
    by: Actor,
    content: Content | None = None,
    reverts: ChangeSet | None = None,
) -> ChangeSet:
    """Create a set on a new branch. Raises LimitReached."""
    _lock_project(project)
    check_limit(project)
    base, head = branch.sha, content.head_sha if content else branch.sha
    change_set = ChangeSet(
        id=branch.set_id,
        project_id=project.id,
        title=title,
        description=description,
        branch=branch.source.branch,
        base_sha=base,
        head_sha=head,
        files=content.files if content else 0,
        creator_id=by.id,
        token_id=by.grant.id if by.grant else None,
        token_name=by.grant.name if by.grant else None,
        reverts_id=reverts.id if reverts else None,
    )
    db.session.add(change_set)
    db.session.flush()
    if content is not None:
        add_author(change_set.id, by.id)
        _store_paths(change_set, content)
    return change_set


def _lock_project(project: Project) -> None:
    """Serialize the creations of sets in a project, so that the limit holds."""
    db.session.scalar(sa.select(Project.id).where(Project.id == project.id).with_for_update(key_share=True))


def record_commit(change_set: ChangeSet, content: Content, *, by: Actor | None) -> ChangeSet:
    """Record a commit on the branch of a set, and release the set. `by` is the author of its changes, if it has any.

    Raises:
        StateConflict: the commit took so long that the set was published or closed without it.
    """
    row = states.locked(change_set.id)
    states.require(row, Step.COMMIT)
    if by is not None:
        add_author(row.id, by.id)
    update_content(row, content)
    row.busy_until = None
    db.session.flush()
    return row


def move_comments(change_set: ChangeSet, edits: Iterable[FileEdit]) -> None:
    """Let the comments on files of a set follow the renames of a commit."""
    paths = {edit.change.previous_path: edit.change.path for edit in edits if edit.change.previous_path is not None}
    if paths:
        path, own = ChangeSetComment.path, ChangeSetComment.change_set_id == change_set.id
        statement = sa.update(ChangeSetComment).where(own, path.in_(paths))
        db.session.execute(statement.values(path=sa.case(paths, value=path)))


def add_author(change_set_id: str, user_id: str) -> None:
    """Record that a user changed a set. Approvals of this user do not count."""
    values = {"change_set_id": change_set_id, "user_id": user_id}
    dialect = db.session.connection().dialect.name
    db.session.execute(insert_or_ignore(dialect, ChangeSetAuthor, values, unique=list(values)))


def update_content(row: ChangeSet, content: Content) -> None:
    """Record the present content of a set whose row is locked.

    A change invalidates the approvals: an approved or scheduled set returns to review, and its schedule is cancelled
    with a mail. Content that was read before a later commit was recorded is ignored.
    """
    if content.recorded_head not in (None, row.head_sha):
        return
    is_same = (row.head_sha, row.base_sha, row.files) == (content.head_sha, content.base_sha, content.files)
    if is_same or row.state not in states.OPEN:  # A claimed publication has the content of its claim.
        return
    values = {"head_sha": content.head_sha, "base_sha": content.base_sha, "files": content.files}
    is_changed = row.head_sha != content.head_sha
    if row.state == State.SCHEDULED and is_changed:
        _cancel_schedule(row)
    states.take(row, Step.COMMIT if is_changed else Step.EDIT, **values)
    _store_paths(row, content)
    if is_changed:
        change_set_changed.publish(row)


def _store_paths(row: ChangeSet, content: Content) -> None:
    """Replace the paths of a set, if its content was read."""
    if content.paths is None:
        return
    db.session.execute(sa.delete(ChangeSetPath).where(ChangeSetPath.change_set_id == row.id))
    paths = [{"change_set_id": row.id, "path": path} for path in sorted(content.paths)[:MAX_PATHS]]
    if paths:
        db.session.execute(sa.insert(ChangeSetPath), paths)


def _cancel_schedule(row: ChangeSet) -> None:
    planned = schedule.find(row)
    if planned is None or planned.action != ScheduledAction.PUBLISH:
        return
    user = db.session.get(User, planned.user_id) if planned.user_id else None
    if user is not None:
        when = {"wall_time": planned.wall_time.replace("T", " "), "timezone": planned.timezone}
        notify(user, "schedule_canceled", title=row.title, url=page_url(row), **when)
    schedule.remove(row)


def page_url(row: ChangeSet) -> str:
    """Return the address of the page of a set in the console."""
    return f"{current_settings().server.base_url}/console/projects/{row.project_id}/changes/{row.id}"


def close(change_set: ChangeSet) -> ChangeSet:
    """Close a set whose branch was deleted. Raises StateConflict."""
    row = states.locked(change_set.id)
    if row.state == State.CLOSED:  # A job observed the deletion of the branch.
        return row
    states.require(row, Step.CLOSE)
    schedule.remove(row)
    return states.take(row, Step.CLOSE, busy_until=None)


def anonymize_creator(user: User) -> None:
    """Remove the names of the tokens of a deleted user from the sets that they created."""
    statement = sa.update(ChangeSet).where(ChangeSet.creator_id == user.id, ChangeSet.token_name.is_not(None))
    db.session.execute(statement.values(token_name=None).execution_options(synchronize_session=False))


def check_revert(change_set: ChangeSet) -> None:
    """Check that a set can be reverted, and that no set does it. Raises RevertExists, StateConflict."""
    first = queries.revert_of(change_set)
    if first is not None:
        raise RevertExists(first.id, first.title)
    states.require(change_set, Step.REVERT)


def check_publisher(project: Project, role: Role | None) -> None:
    """Refuse a member who may not publish in the project. Raises NotPublisher."""
    if not is_publisher(project, role):
        raise NotPublisher


def is_publisher(project: Project, role: Role | None) -> bool:
    """Return whether a member may publish and schedule in the project, and take changes back at once."""
    return role is not None and (project.publishers != Publishers.ADMINS or role != Role.EDITOR)


def available_steps(row: ChangeSet, project: Project, role: Role | None, *, user: HasId) -> frozenset[Step]:
    """Return the steps that a member can take now.

    The authors of commits made with Git are not read: they cannot review, but the result can contain the step.
    """
    required, steps = project.required_approvals, set[Step]()
    for step in Step:
        if row.state in states.permitted(step, required_approvals=required):
            steps.add(step)
    if user.id == row.creator_id or user.id in queries.author_ids(row.id):
        steps.discard(Step.REVIEW)
    if not is_publisher(project, role):
        steps -= PUBLISHER_STEPS
    if len(queries.approvals_of([row])[row.id].valid) < required:
        steps -= {Step.PUBLISH, Step.SCHEDULE}
    return frozenset(steps if row.files else steps - {Step.SUBMIT, Step.PUBLISH, Step.SCHEDULE})


def check_approved(row: ChangeSet, project: Project, step: Step) -> None:
    """Check that a set can be published or scheduled.

    Raises:
        NotApproved, StaleApproval: approvals are missing.
        AlreadyPublished, StateConflict: the state does not permit the step.
    """
    if row.state in states.OPEN:
        approvals = queries.approvals_of([row])[row.id]
        if len(approvals.valid) < project.required_approvals:
            raise StaleApproval if approvals.stale >= project.required_approvals else NotApproved
        if row.state == State.IN_REVIEW:  # The project requires fewer approvals than at the last review.
            return
    states.require(row, step, required_approvals=project.required_approvals)
