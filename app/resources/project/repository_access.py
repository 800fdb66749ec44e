"""Access checks of a repository before it is connected. They call the host, so they run before the transaction."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.concurrency.threadpool import offload
from app.core.errors import ErrorMessage, FieldError, InvalidRequest, UnprocessableEntity
from app.core.outbound import OutsideResource
from app.drivers.git.errors import RepositoryUnavailable
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import Repository, RepositoryFacts
from app.models.organization import Organization
from app.models.project import Generator, Project, Provider
from app.models.user import User
from app.resources.git_provider import repositories
from app.resources.git_provider.provider_selection import connect
from app.resources.project.site_detection import SiteKind, detect

NAMED_BRANCHES, MAX_BRANCHES = 10, 100
"""Branches in the message and in the result of the error for an unknown branch."""


@dataclass(frozen=True)
class BranchRef:
    """A branch of a repository as the caller named it."""

    provider: Provider
    repository: str
    repository_id: str | None
    branch: str


@dataclass(frozen=True)
class ReachableBranch:
    """A branch that was read with the credential of the caller. Name and id of the repository are those of the host."""

    provider: Provider
    repository: str
    repository_id: str | None
    branch: str
    account: str | None
    head: str
    at_host: Repository
    installation_id: str | None = None


def default_branch(repository: RepositoryFacts) -> BranchRef:
    """Return the default branch of a local repository."""
    return BranchRef(Provider.LOCAL, repository.full_name, None, repository.default_branch)


def verify_access(target: BranchRef, organization_id: str, *, hosts: GitHosts, user: User) -> ReachableBranch:
    """Read the repository and the branch's head with the caller's credential.

    Raises:
        RepositoryUnavailable: one of them cannot be read, the caller must not write to it, or the repository belongs to
            another organization.
    """
    named = (target.provider, target.repository, target.repository_id)
    connection = connect(*named, organization_id, hosts=hosts, user=user)
    facts = connection.repository.facts()
    connection.check(facts)
    at_host = connection.open(facts.full_name, facts.id)
    head = _head(at_host, target.branch)
    installation_id = connection.installation_of(facts)
    return ReachableBranch(
        target.provider,
        facts.full_name,
        facts.id,
        target.branch,
        connection.account,
        head,
        at_host,
        installation_id,
    )


def _head(repository: Repository, branch: str) -> str:
    """Return the head of a branch. The error for an unknown branch lists the branches of the repository."""
    try:
        return repository.head(branch)
    except RepositoryUnavailable as error:
        names = [branch.name for branch in repository.branches()]
        if not names or branch in names:
            raise
        listed = ", ".join(names[:NAMED_BRANCHES]) + (" …" if len(names) > NAMED_BRANCHES else "")
        raise UnprocessableEntity(
            f"The repository has no branch {branch}. Its branches are: {listed}",
            code="REPO_UNAVAILABLE",
            fields=[FieldError("branch", ErrorMessage("This branch does not exist"))],
            result={"branches": names[:MAX_BRANCHES]},
        ) from error


def detect_site(reached: ReachableBranch, *, framework: str | None, generator: Generator | None) -> SiteKind:
    """Return the kind of site of the branch. Values from the caller are kept."""
    if framework is not None and generator is not None:
        return SiteKind(generator, framework)
    site = detect(reached.at_host, reached.head)
    return SiteKind(generator or site.generator, framework or site.framework)


def changed_branch(project: Project, changes: Mapping[str, Any]) -> BranchRef | None:
    """Return the branch of a project after `changes`, or None if they disconnect it. Missing fields stay unchanged.

    Raises:
        InvalidRequest: the project is disconnected, and the changes name no repository or branch.
    """
    if changes.get("repository") == "" or changes.get("branch") == "":
        return None
    repository = changes.get("repository", project.repository)
    branch = changes.get("branch", project.branch)
    if not repository or not branch:
        raise InvalidRequest.field(
            "branch" if repository else "repository", "Name the repository and the branch to connect"
        )
    is_same = repository == project.repository and changes.get("provider", project.provider) == project.provider
    repository_id = changes.get("repository_id", project.repository_id if is_same else None)
    return BranchRef(changes.get("provider", project.provider), repository, repository_id, branch)


@dataclass(frozen=True)
class NewRepository(OutsideResource):
    """A repository without a project, its default branch and the detected values of the project."""

    reached: ReachableBranch
    values: dict[str, object]
    hosts: GitHosts

    def discard(self) -> None:
        offload(repositories.local_host(self.hosts).remove, self.reached.repository)


def make_connected(organization: Organization, name: str, *, source: Path, hosts: GitHosts, by: User) -> NewRepository:
    """Create a repository with the files of a folder and read its branch. The caller has checked the limits.

    Raises:
        Conflict: the organization has a repository of this name.
        DriverError: the repository cannot be created or read. It does not exist then.
    """
    organization_id = organization.id
    repository = repositories.make(organization, name, hosts=hosts, source=source)
    try:
        reached = verify_access(default_branch(repository), organization_id, hosts=hosts, user=by)
        kind = detect_site(reached, framework=None, generator=None)
    except BaseException:
        repositories.local_host(hosts).remove(repository.full_name)
        raise
    return NewRepository(reached, {"framework": kind.framework, "generator": kind.generator}, hosts)
