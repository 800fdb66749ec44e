"""The effects of a received push: the events of its branches, new index runs and entries in the project log."""

from collections.abc import Iterable
from itertools import islice

import sqlalchemy as sa

from app.core.api_tokens import TokenGrant
from app.core.jobs import job
from app.database import transactions
from app.drivers.git.errors import GitObjectMissing, RepositoryUnavailable
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import GitProvider, RepoRef
from app.extensions import db
from app.models.login import ApiToken
from app.models.organization import ArchiveStatus
from app.models.project import Project, Provider
from app.models.project_log import LogSource
from app.models.user import User
from app.resources.project.events import FileEvent, FilesChanged, branch_deleted, branch_moved, files_changed
from app.resources.project_content.index import indexes, indexing
from app.resources.project_content.versions.history import last_commits

Update = tuple[str, str | None, str | None]
"""A branch with its commits before and after a push."""


@job("git_push.received", uses=("git",), priority=10)
def follow_push(*, repository: str, updates: list[Update], user_id: str, token_id: str, git: GitHosts) -> None:
    """Publish the events of a push for every project on the repository, and write its files to the project log."""
    if git.local is None:
        return
    project_ids = db.session.scalars(
        sa.select(Project.id).where(
            Project.provider == Provider.LOCAL,
            Project.repository == repository,
            Project.status == ArchiveStatus.ACTIVE,
        )
    ).all()
    for branch, before, after in updates:
        _publish(project_ids, branch, after)
        if before is not None and after is not None:
            _record(project_ids, (branch, before, after), RepoRef(repository), git.local, user_id, token_id)


def _publish(project_ids: Iterable[str], branch: str, after: str | None) -> None:
    with transactions.write_transaction():
        for project_id in project_ids:
            project = db.session.get(Project, project_id)
            if project is None:
                continue
            if after is None:
                branch_deleted.publish(project, branch)
            else:
                branch_moved.publish(project, branch, after)


def _record(
    project_ids: Iterable[str],
    moved: tuple[str, str, str],
    repo: RepoRef,
    git: GitProvider,
    user_id: str,
    token_id: str,
) -> None:
    """Write the changed files to the log of each project that has an index of the branch."""
    branch, before, after = moved
    with transactions.outside_transaction():
        events = _events(git, repo, before, after)
    with transactions.write_transaction():
        user = db.session.get(User, user_id)
        for project_id in project_ids if user is not None else ():
            if indexes.find(project_id, branch) is not None:
                files_changed.publish(FilesChanged(project_id, LogSource.PUSH, events, user, _grant_of(token_id)))


def _grant_of(token_id: str) -> TokenGrant | None:
    """Return the token of a push for the log, without rights. None if it was deleted."""
    token = db.session.get(ApiToken, token_id)
    return TokenGrant(token.id, token.name, frozenset(), None, token.organization_id) if token is not None else None


def _events(git: GitProvider, repo: RepoRef, before: str, after: str) -> tuple[FileEvent, ...]:
    """Return the changed files. A change that is too large for the log has none, as in an index run."""
    maximum = indexing.MAX_INCREMENTAL_CHANGES
    try:
        changes = list(islice(git.changes(repo, before, after), maximum + 1))
        if len(changes) > maximum:
            return ()
        existing = git.entries(repo, before, [change.path for change in changes])
        is_fast_forward = git.is_ancestor(repo, before, after)
        last = last_commits(git.history(repo, after, since=before)) if is_fast_forward else {}
    except (GitObjectMissing, RepositoryUnavailable):
        return ()
    types = {path: entry.type for path, entry in existing.items()}
    return indexing.file_events(changes, types, last, after)
