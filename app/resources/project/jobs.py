"""Jobs that import repositories, delete old imports, and set the default branch of local repositories."""

from contextlib import suppress
from datetime import timedelta

import sqlalchemy as sa

from app.concurrency.bounded import ConcurrencyLimiter
from app.core.jobs import job
from app.database import transactions
from app.drivers.git.errors import RepositoryUnavailable
from app.drivers.git.hosts import GitHosts
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.project import Project, RepositoryImport
from app.resources.project import imports
from app.resources.project.events import branch_deleted, branch_moved
from app.resources.system.retention import purge

RETENTION, CLEANUP_INTERVAL = timedelta(days=7), timedelta(hours=1)
CLONE_PAUSE = timedelta(seconds=2)
long_runs = ConcurrencyLimiter(per_key=2, total=3)
"""The clones of a worker, and its readings of the texts of a branch, by organization.

They take minutes. A thread remains for other jobs.
"""
ABANDONED_AFTER = timedelta(hours=6)
"""Age of an import whose job has ended permanently without a result."""


@job("project.import", retries=20, uses=("git",), priority=3)
def import_repository(*, import_id: str, git: GitHosts) -> None:
    """Clone a repository and connect it as a project."""
    row = db.session.get(RepositoryImport, import_id)
    if row is None or row.status not in imports.OPEN:
        return
    with long_runs.slot(row.organization_id) as is_free:
        if is_free:
            imports.run(row, hosts=git)
        else:
            with transactions.write_transaction():
                imports.enqueue(row, CLONE_PAUSE)


@job("project.follow_branch", uses=("git",), priority=10)
def follow_branch(*, repository: str, git: GitHosts) -> None:
    """Set HEAD of a local repository to the working branch of its oldest project."""
    on_repository = (Project.is_local, Project.repository == repository)
    branch = db.session.scalar(sa.select(Project.branch).where(*on_repository).order_by(Project.id).limit(1))
    if branch is not None and git.local is not None:
        with transactions.outside_transaction(), suppress(RepositoryUnavailable):
            git.local.open(repository).set_default_branch(branch)


@job("project.branch_changed", transaction=True, priority=10)
def publish_branch(*, project_id: str, branch: str, head: str | None) -> None:
    """Publish a new head or the deletion of a branch whose request could not do it."""
    project = db.session.get(Project, project_id)
    if project is not None and head is not None:
        branch_moved.publish(project, branch, head)
    elif project is not None:
        branch_deleted.publish(project, branch)


@job("project.clean_imports", every=CLEANUP_INTERVAL, retries=0, uses=("git",))
def clean_imports(*, git: GitHosts) -> None:
    """Delete imports after a week, and mark those without a running job as failed."""
    now = utcnow_ms()
    purge(RepositoryImport, RepositoryImport.created_at < now - RETENTION)
    is_abandoned = (RepositoryImport.status.in_(imports.OPEN), RepositoryImport.updated_at < now - ABANDONED_AFTER)
    rows = db.session.execute(sa.select(RepositoryImport.id, RepositoryImport.repository).where(*is_abandoned)).all()
    for import_id, repository in rows:
        imports.fail(import_id, repository, None, git)
