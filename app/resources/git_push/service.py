"""Rules of Git over HTTP: the projects of a repository, the branches that a push may change, and its effects."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa

from app.core.api_tokens import TokenGrant, TokenScope
from app.core.refs import BRANCHES
from app.database.inserts import insert_or_ignore
from app.extensions import db, jobs
from app.models.base import utcnow_ms
from app.models.git_credential import GitDelivery
from app.models.organization import ArchiveStatus, Organization
from app.models.project import Project, Provider, role_in_project
from app.resources.project.branches import ChangeSetRequired
from app.resources.project.events import BranchWriter, branch_written

HOST = Provider.LOCAL
"""The host of the repositories that this installation serves."""

Update = tuple[str, str | None, str | None]
"""A branch with its commits before and after a push."""


@dataclass(frozen=True)
class ServedProject:
    """A project of a repository. `is_open` is true if the caller and the token reach it."""

    organization_id: str
    branch: str
    is_archived: bool
    needs_change_sets: bool
    is_open: bool


@dataclass(frozen=True)
class RefUpdate:
    """A requested change of a branch or tag. None stands for a ref that does not exist.

    `is_rewrite` is true if the new commit does not contain the previous one. None is unknown.
    """

    ref: str
    before: str | None
    after: str | None
    is_rewrite: bool | None = False

    @property
    def branch(self) -> str | None:
        """The name of the branch, or None for a tag."""
        return self.ref.removeprefix(BRANCHES) if self.ref.startswith(BRANCHES) else None


@dataclass(frozen=True)
class PermittedPush:
    """A push whose branches Git may move: each name with its commits before and after. Git can refuse some of them."""

    id: str
    repository: str
    updates: list[Update]
    user_id: str
    token_id: str


def projects_of(repository: str, *, user_id: str, grant: TokenGrant) -> tuple[ServedProject, ...]:
    """Return all projects on a local repository. The result is empty if the caller reaches none of them."""
    statement = (
        sa.select(Project, Organization.status, role_in_project(user_id))
        .join(Organization, Organization.id == Project.organization_id)
        .where(Project.is_local, Project.repository == repository)
    )
    projects = tuple(
        ServedProject(
            project.organization_id,
            project.branch,
            ArchiveStatus.ARCHIVED in (project.status, status),
            project.require_change_sets,
            role is not None and grant.covers(project.id, [project.organization_id]),
        )
        for project, status, role in db.session.execute(statement)
    )
    return projects if any(project.is_open for project in projects) else ()


def remote_of(repository: str, *, user_id: str, grant: TokenGrant) -> tuple[Provider, str] | None:
    """Return the host and the name of a repository of another host, if the caller reaches a project on it."""
    statement = sa.select(Project).where(
        role_in_project(user_id).is_not(None),
        sa.not_(Project.is_local),
        sa.func.lower(Project.repository) == repository.lower(),
    )
    for project in db.session.scalars(statement):
        if grant.covers(project.id, [project.organization_id]):
            return project.provider, project.repository
    return None


def refusals(updates: Sequence[RefUpdate], projects: Sequence[ServedProject], grant: TokenGrant) -> list[str]:
    """Return the reasons for which a push is refused, as sentences for its user."""
    if not projects:
        return ["The repository does not exist"]
    if all(project.is_archived for project in projects):
        return ["The project is archived. It is read-only"]
    return [f"{update.ref}: {reason}" for update in updates for reason in _faults(update, projects, grant)]


def _faults(update: RefUpdate, projects: Sequence[ServedProject], grant: TokenGrant) -> Iterator[str]:
    working = [project for project in projects if update.branch is not None and project.branch == update.branch]
    needed = TokenScope.PUBLISH if working else TokenScope.WRITE
    if needed not in grant.scopes:
        yield f"The API token needs the scope {needed.value}"
    if not working:
        return
    if any(project.is_archived for project in working):
        yield "This is the working branch of an archived project. It is read-only"
    if any(project.needs_change_sets for project in working):
        yield f"{ChangeSetRequired.code}: {ChangeSetRequired.message}"
    if update.after is None:
        yield "This is the working branch of a project. It cannot be deleted"
    elif update.is_rewrite is not False:
        yield (
            "This is the working branch of a project. Its commits cannot be rewritten. Pull first, "
            "an unrelated history with: git pull --rebase=false --allow-unrelated-histories"
        )


def record_permission(push: PermittedPush, *, check_after: timedelta) -> None:
    """Record the user of a push as a writer of its branches, before Git moves them, in the running transaction.

    The effects are enqueued after `check_after` if the process of the push is killed before.
    """
    _record_writer(push)
    if push.updates:
        jobs.enqueue("git_push.permitted", delay=check_after, **vars(push))


def _record_writer(push: PermittedPush) -> None:
    for branch, _, _ in push.updates:
        branch_written.publish(BranchWriter(HOST, push.repository, branch, push.user_id))


def enqueue_effects(push: PermittedPush) -> None:
    """Enqueue the effects of a push on branches once, in the running transaction.

    The user is recorded again: a new change set has a branch before its row is stored.
    """
    _record_writer(push)
    delivery = {"provider": HOST, "delivery": push.id, "received_at": utcnow_ms()}
    dialect, unique = db.session.connection().dialect.name, ("provider", "delivery")
    statement = insert_or_ignore(dialect, GitDelivery, delivery, unique=unique).returning(GitDelivery.delivery)
    if push.updates and db.session.scalar(statement) is not None:
        jobs.enqueue("git_push.received", **{name: value for name, value in vars(push).items() if name != "id"})
