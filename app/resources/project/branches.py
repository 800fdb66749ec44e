"""Branches of a project's repository at its host."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from app.core.errors import Conflict, ErrorMessage, PermissionDenied
from app.core.ids import HasId
from app.core.outbound import LateRecord, UnrecordedAct
from app.core.refs import is_sha
from app.database import transactions
from app.drivers.git.errors import GitObjectMissing
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import Branch, Repository
from app.drivers.git.revisions import Revisions
from app.extensions import db
from app.models.project import Project
from app.resources.git_provider.provider_selection import open_repository
from app.resources.project.events import BranchWriter, branch_deleted, branch_written

Result = dict[str, object]


class ChangeSetRequired(PermissionDenied):
    """A direct commit on a branch that receives only change sets (403)."""

    code = "CHANGE_SET_REQUIRED"
    message = ErrorMessage("This project publishes only proposed changes. Propose the change instead")


def list_all(project: Project, *, hosts: GitHosts, user: HasId) -> Sequence[Branch]:
    """Return the branches by name.

    Raises:
        Conflict: the project has no repository.
        RepositoryUnavailable: the repository cannot be read.
    """
    return _reach(project, hosts, user).branches()


def create(project: Project, name: str, start: str | None, *, hosts: GitHosts, user: HasId) -> Branch:
    """Create a branch at another branch or at a commit of a branch. The default of `start` is the working branch.

    Raises:
        Conflict: the project has no repository.
        BranchExists: the name is used.
        RepositoryUnavailable, GitObjectMissing: `start` does not exist.
    """
    repository = _reach(project, hosts, user)
    start = start or project.branch
    if not is_sha(start):
        start = repository.head(start)
    elif not isinstance(repository, Revisions) or not repository.is_reachable(start, branch=project.branch or ""):
        raise GitObjectMissing("No branch of the repository contains this commit")
    with transactions.write_transaction():
        branch_written.publish(BranchWriter.through(project, name, user))
    return repository.create_branch(name, start)


def delete(project: Project, name: str, *, hosts: GitHosts, user: HasId) -> UnrecordedAct[Result]:
    """Delete a branch of the repository.

    Raises:
        NotFound: there is no such branch.
        Conflict: it is the default branch, or the working branch of a project, or the project has no repository.
        UpstreamRejected: the host protects the branch.
    """
    repository = _reach(project, hosts, user)
    deleted: Result = {"name": name, "deleted": True}
    late = late_record(project.id, name, None, deleted)
    if is_working_branch(project, name):
        raise Conflict("A project uses this branch as its working branch", code="WORKING_BRANCH")
    with transactions.outside_transaction():
        if repository.facts().default_branch == name:
            raise Conflict("The default branch of the repository cannot be deleted", code="DEFAULT_BRANCH")
        repository.delete_branch(name)

    def record() -> Result:
        branch_deleted.publish(project, name)
        return deleted

    return UnrecordedAct(record, late)


def is_working_branch(project: Project, name: str) -> bool:
    """Return whether the branch is the working branch of a project on the same repository."""
    repository = sa.and_(Project.provider == project.provider, Project.repository == project.repository)
    return db.session.scalar(sa.select(Project.id).where(repository, Project.branch == name).limit(1)) is not None


def check_direct_commit(project_id: str, branch: str) -> None:
    """Refuse a commit on a working branch that receives only change sets. Raises ChangeSetRequired."""
    if requires_change_sets(project_id, branch):
        raise ChangeSetRequired


def requires_change_sets(project_id: str, branch: str) -> bool:
    """Return whether a working branch receives only change sets.

    The setting of any project on the same repository counts.
    """
    return db.session.scalar(_required(), {"project_id": project_id, "branch": branch}) is not None


@cache
def _required() -> sa.Select[Any]:
    """Return the statement that finds a project which requires change sets."""
    own, other = sa.orm.aliased(Project), sa.orm.aliased(Project)
    same = sa.and_(other.provider == own.provider, other.repository == own.repository)
    statement = sa.select(other.id).join_from(own, other, same).where(own.id == sa.bindparam("project_id"))
    return statement.where(other.branch == sa.bindparam("branch"), other.require_change_sets).limit(1)


def late_record(project_id: str, name: str, head: str | None, result: Result) -> LateRecord[Result]:
    """Return the response of a change of a branch and the job that publishes it. No `head`: it was deleted."""
    arguments = {"project_id": project_id, "branch": name, "head": head}
    return LateRecord(result, [("project.branch_changed", arguments)])


def _reach(project: Project, hosts: GitHosts, user: HasId) -> Repository:
    if not project.repository:
        raise Conflict(ErrorMessage("Connect a repository to this project first"), code="DISCONNECTED")
    return open_repository(project, hosts=hosts, user=user)
