"""The effects of a received push: the events of its branches, new index runs and entries in the project log."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from app.core.jobs import job
from app.database import transactions
from app.database.inserts import batches
from app.drivers.git.errors import GitObjectMissing, RepositoryUnavailable
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import Repository
from app.extensions import db
from app.models.organization import ArchiveStatus
from app.models.project import Project
from app.models.user import User
from app.resources.git_push import service
from app.resources.git_push.service import PermittedPush, Update
from app.resources.project.events import branch_deleted, branch_moved
from app.resources.project_content.index import indexes, indexing
from app.resources.project_content.service import grant_of

PUBLISHED_UPDATES = 50
"""Branches whose events are published in one transaction."""


@job("git_push.permitted", transaction=True)
def follow_permission(**push: Any) -> None:
    """Enqueue the effects of a permitted push whose process was killed before it could."""
    service.enqueue_effects(PermittedPush(**push))


@job("git_push.received", uses=("git",), priority=10)
def follow_push(*, repository: str, updates: list[Update], user_id: str, token_id: str, git: GitHosts) -> None:
    """Publish the events of a push for every project on the repository, and write its files to the project log."""
    if git.local is None:
        return
    project_ids = db.session.scalars(
        sa.select(Project.id).where(
            Project.is_local,
            Project.repository == repository,
            Project.status == ArchiveStatus.ACTIVE,
        )
    ).all()
    at_host = git.local.open(repository)
    with transactions.outside_transaction():
        applied = _applied(updates, at_host)
    for part in batches(applied, PUBLISHED_UPDATES):
        _publish(project_ids, part)
    for branch, before, after in applied:
        if before is not None and after is not None:
            _record(project_ids, (branch, before, after), at_host, user_id, token_id)


def _applied(updates: Iterable[Update], repository: Repository) -> list[Update]:
    """Return the updates that Git has executed. Another writer may have moved a branch since."""
    try:
        heads = {branch.name: branch.sha for branch in repository.branches()}
    except RepositoryUnavailable:
        return []
    return [update for update in updates if _is_applied(update, heads.get(update[0]), repository)]


def _is_applied(update: Update, head: str | None, repository: Repository) -> bool:
    _, before, after = update
    if head == after or head is None or after is None:
        return head == after
    try:
        is_older = before is not None and repository.is_ancestor(after, before)
        return not is_older and repository.is_ancestor(after, head)
    except GitObjectMissing:  # Git refused the push and its objects.
        return False


def _publish(project_ids: Iterable[str], updates: Iterable[Update]) -> None:
    with transactions.write_transaction():
        for project in filter(None, [db.session.get(Project, project_id) for project_id in project_ids]):
            for branch, _, after in updates:
                if after is None:
                    branch_deleted.publish(project, branch)
                else:
                    branch_moved.publish(project, branch, after)


def _record(
    project_ids: Iterable[str], moved: tuple[str, str, str], repository: Repository, user_id: str, token_id: str
) -> None:
    """Write the changed files to the log of each project that has an index of the branch."""
    branch, before, after = moved
    files, grant = indexing.pushed_files(repository, before, after), grant_of(token_id)
    for project_id in project_ids if db.session.get(User, user_id) is not None else ():
        if indexes.find(project_id, branch) is not None:
            indexing.log_push(project_id, files, user_id, grant)
