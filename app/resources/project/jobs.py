"""Jobs that import repositories and delete old imports."""

from datetime import timedelta

import sqlalchemy as sa

from app.core.jobs import job
from app.drivers.git.hosts import GitHosts
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.project import RepositoryImport
from app.resources.project import imports
from app.resources.system.retention import purge

RETENTION, CLEANUP_INTERVAL = timedelta(days=7), timedelta(hours=1)
ABANDONED_AFTER = timedelta(hours=6)
"""Age of an import whose job has ended permanently without a result."""


@job("project.import", retries=20, uses=("git",), priority=3)
def import_repository(*, import_id: str, git: GitHosts) -> None:
    """Clone a repository and connect it as a project."""
    row = db.session.get(RepositoryImport, import_id)
    if row is not None and row.status in imports.OPEN:
        imports.run(row, hosts=git)


@job("project.clean_imports", every=CLEANUP_INTERVAL, retries=0, uses=("git",))
def clean_imports(*, git: GitHosts) -> None:
    """Delete imports after a week, and mark those without a running job as failed."""
    now = utcnow_ms()
    purge(RepositoryImport, RepositoryImport.created_at < now - RETENTION)
    is_abandoned = (RepositoryImport.status.in_(imports.OPEN), RepositoryImport.updated_at < now - ABANDONED_AFTER)
    rows = db.session.execute(sa.select(RepositoryImport.id, RepositoryImport.repository).where(*is_abandoned)).all()
    for import_id, repository in rows:
        imports.fail(import_id, repository, None, git)
