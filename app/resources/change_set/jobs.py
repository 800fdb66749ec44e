"""Jobs of change sets: scheduled publications, attempts with an unknown outcome, and changes made at the Git host."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

import sqlalchemy as sa
import structlog

from app.core.errors import AppError, ErrorMessage, PermissionDenied
from app.core.jobs import job
from app.database import transactions
from app.drivers.errors import DriverError, UpstreamRejected
from app.drivers.git.errors import BranchMoved, GitObjectMissing
from app.drivers.git.hosts import GitHosts
from app.extensions import db, jobs
from app.models.base import utcnow_ms
from app.models.change_set import ChangeSet, ChangeSetSchedule, ScheduledAction
from app.models.change_set import ChangeSetState as State
from app.models.organization import ArchiveStatus, Organization
from app.models.project import Project, role_in_project
from app.models.user import Actor, User
from app.resources.change_set import host_changes, notices, publishing, reversals, schedule, service, states
from app.resources.change_set.publishing import UNKNOWN_OUTCOME
from app.resources.project.branches import is_working_branch
from app.resources.project.events import branch_deleted
from app.resources.project_content.actions import ContentBranch
from app.resources.project_content.source import source_of

log = structlog.get_logger(__name__)

SWEEP_INTERVAL, FOLLOW_INTERVAL, TIME_ZONE_INTERVAL = timedelta(seconds=30), timedelta(minutes=10), timedelta(hours=1)
MAX_DUE, MAX_MAILS, MAX_FOLLOWED = 1_000, 500, 100
GIVE_UP_AFTER = timedelta(hours=1)
"""How long a publication is repeated whose outcome is unknown."""


@job("change_sets.publish_due", every=SWEEP_INTERVAL, retries=0, transaction=True)
def publish_due() -> None:
    """Enqueue the publication of each set whose time has come."""
    for set_id in schedule.due(limit=MAX_DUE):
        jobs.enqueue("change_sets.publish_scheduled", unique=f"change_sets.publish:{set_id}", change_set_id=set_id)


@job("change_sets.publish_scheduled", retries=20, uses=("git",), priority=5)
def publish_scheduled(*, change_set_id: str, git: GitHosts) -> None:
    """Publish or revert a set whose time has come, in the name of the user who chose the time."""
    planned = db.session.get(ChangeSetSchedule, change_set_id)
    change_set = db.session.get(ChangeSet, change_set_id)
    if planned is None or change_set is None or planned.due_at > utcnow_ms():
        return
    if change_set.state == State.PUBLISHING:  # An attempt with an unknown outcome. Its job repeats it.
        return

    def run() -> None:
        project, user = _permitted(change_set, planned.user_id)
        if planned.action == ScheduledAction.UNPUBLISH:
            _unpublish(change_set, project, user, git)
            return
        publication = publishing.publish(change_set, project, hosts=git, user=user, is_scheduled=True)
        with transactions.write_transaction():
            publishing.finish(publication, by=db.session.get(User, user.id))

    with suppress(publishing.NotDue):
        _run_or_fail(change_set_id, planned.due_at, run, is_scheduled=True)


def _permitted(change_set: ChangeSet, user_id: str | None) -> tuple[Project, User]:
    """Return the project and the user of a schedule, whose rights are checked again. Raises PermissionDenied."""
    project = db.session.get_one(Project, change_set.project_id)
    organization = db.session.get_one(Organization, project.organization_id)
    user = db.session.get(User, user_id) if user_id is not None else None
    role = db.session.scalar(sa.select(role_in_project(user_id)).where(Project.id == project.id))
    if user is None or role is None:
        raise PermissionDenied(ErrorMessage("The user who chose the time is not a member any more"))
    service.check_publisher(project, role)
    if ArchiveStatus.ARCHIVED in (project.status, organization.status):
        raise PermissionDenied(ErrorMessage("The project is archived"))
    return project, user


def _unpublish(change_set: ChangeSet, project: Project, user: User, git: GitHosts) -> None:
    """Publish the revert of a set."""
    if change_set.state != State.PUBLISHED:
        with transactions.write_transaction():
            schedule.remove(states.locked(change_set.id))
        return
    if _is_being_reverted(change_set):  # An attempt with an unknown outcome. Its job repeats it.
        return
    site = ContentBranch(project, None, Actor(user.id), git)
    _set_id, publication = reversals.publish(
        reversals.of_set(change_set), site, lambda: publishing.check_due(states.locked(change_set.id))
    )
    if publication is not None:
        with transactions.write_transaction():
            publishing.finish(publication, by=db.session.get(User, user.id))


def _is_being_reverted(change_set: ChangeSet) -> bool:
    running = sa.exists().where(ChangeSet.reverts_id == change_set.id, ChangeSet.state == State.PUBLISHING)
    return bool(db.session.scalar(sa.select(running)))


def _run_or_fail(change_set_id: str, since: datetime, run: Callable[[], None], *, is_scheduled: bool = False) -> None:
    """Run a publication. A refusal is final, an unknown outcome is repeated for a limited time."""
    try:
        run()
    except (AppError, DriverError) as error:
        transactions.rollback()
        is_late = utcnow_ms() - since > GIVE_UP_AFTER
        if not is_late and (isinstance(error, UNKNOWN_OUTCOME) or getattr(error, "code", "") == "BRANCH_BUSY"):
            raise
        log.info("change_set.publication_failed", change_set_id=change_set_id, error=type(error).__name__)
        with transactions.write_transaction():
            publishing.fail(change_set_id, str(error), is_scheduled=is_scheduled)


@job("change_sets.finish_publication", retries=40, uses=("git",), priority=5)
def finish_publication(*, change_set_id: str, git: GitHosts) -> None:
    """Repeat a publication whose process ended, or whose outcome is unknown."""
    row = db.session.get(ChangeSet, change_set_id)
    if row is None or row.state != State.PUBLISHING or row.request_number is not None:
        return

    def run() -> None:
        project, user = _project_and_publisher(row)
        with transactions.outside_transaction():
            publication = publishing.attempt(row, source_of(project, git, user=user))
        with transactions.write_transaction():
            publishing.finish(publication, by=db.session.get(User, row.publisher_id) if row.publisher_id else None)

    _run_or_fail(change_set_id, row.updated_at, run)


def _project_and_publisher(row: ChangeSet) -> tuple[Project, User | None]:
    user = db.session.get(User, row.publisher_id) if row.publisher_id is not None else None
    return db.session.get_one(Project, row.project_id), user


@job("change_sets.follow_requests", every=SWEEP_INTERVAL, retries=0, uses=("git",))
def follow_requests(*, git: GitHosts) -> None:
    """Ask the hosts for the pull requests by which sets are published."""
    waiting = sa.select(ChangeSet.id).where(ChangeSet.state == State.PUBLISHING, ChangeSet.request_number.is_not(None))
    for set_id in db.session.scalars(waiting.order_by(sa.func.random()).limit(MAX_FOLLOWED)).all():
        row = db.session.get(ChangeSet, set_id, populate_existing=True)
        if row is None or row.request_number is None:
            continue
        project, user = _project_and_publisher(row)
        try:
            with transactions.outside_transaction():
                publication = publishing.follow_request(row, source_of(project, git, user=user))
            if publication is not None:
                with transactions.write_transaction():
                    publishing.finish(publication, by=_project_and_publisher(row)[1])
        except UNKNOWN_OUTCOME as error:
            log.info("change_set.request_unreadable", change_set_id=set_id, error=type(error).__name__)
        except (AppError, DriverError) as error:
            with transactions.write_transaction():
                publishing.fail(set_id, str(error))


@job("change_sets.follow", retries=3, uses=("git",))
def follow(*, project_id: str, change_set_id: str | None = None, git: GitHosts) -> None:
    """Record what happened to the open sets of a project at its Git host, or to one of them."""
    host_changes.follow(project_id, change_set_id, hosts=git)


@job("change_sets.follow_remote", every=FOLLOW_INTERVAL, retries=0, transaction=True)
def follow_remote() -> None:
    """Enqueue a check of the open sets at remote hosts, because notifications of Git hosts can be lost."""
    host_changes.enqueue_follow(sa.not_(Project.is_local), Project.status == ArchiveStatus.ACTIVE)


@job("change_sets.delete_branch", retries=8, uses=("git",))
def delete_branch(*, change_set_id: str, expected_head: str, git: GitHosts) -> None:
    """Delete the branch of a published set.

    A branch that has later commits stays, and one that a project uses as its working branch or that the host protects.
    """
    row = db.session.get(ChangeSet, change_set_id)
    project = db.session.get(Project, row.project_id) if row is not None else None
    if row is None or project is None or not project.repository or is_working_branch(project, row.branch):
        return
    with transactions.outside_transaction():
        source = source_of(project, git, branch=row.branch)
        try:
            source.repository.delete_branch(source.branch, expected_head=expected_head)
        except (BranchMoved, UpstreamRejected) as error:
            log.info("change_set.branch_kept", change_set_id=change_set_id, error=type(error).__name__)
            return
        except GitObjectMissing:
            pass
    with transactions.write_transaction():
        branch_deleted.publish(project, row.branch)


@job("change_sets.release", transaction=True)
def release(*, change_set_id: str) -> None:
    """Release a set whose writer could not record its change, and read its branch again."""
    row = db.session.get(ChangeSet, change_set_id, with_for_update=True)
    if row is not None:
        row.busy_until = None
        host_changes.enqueue_follow(ChangeSet.id == row.id)


@job("change_sets.derive_schedules", every=TIME_ZONE_INTERVAL, retries=0, transaction=True)
def derive_schedules() -> None:
    """Derive the instants of schedules again: a new release of the time zone data may have changed them."""
    changed = schedule.derive_again()
    if changed:
        log.info("change_set.schedules_derived", changed=changed)


@job("change_sets.mail_notices", every=SWEEP_INTERVAL, retries=0)
def mail_notices() -> None:
    """Enqueue a mail for each user whose oldest notice has waited for others long enough."""
    for user_id in notices.due(limit=MAX_MAILS):
        with transactions.locked_row(User, user_id) as user:
            if user is not None:
                notices.mail(user)
