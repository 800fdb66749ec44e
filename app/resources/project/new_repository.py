"""A new repository on this server that is created together with its project."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.concurrency.threadpool import offload
from app.core.outbound import OutsideResource
from app.drivers.git.hosts import GitHosts
from app.models.organization import Organization
from app.models.project import Provider
from app.models.user import User
from app.resources.git_provider import repositories
from app.resources.project.repository_access import BranchRef, ReachableBranch, detect_site, verify_access


@dataclass(frozen=True)
class NewRepository(OutsideResource):
    """A repository without a project, its default branch and the detected values of the project."""

    reached: ReachableBranch
    values: dict[str, Any]
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
        target = BranchRef(Provider.LOCAL, repository.full_name, None, repository.default_branch)
        reached = verify_access(target, organization_id, hosts=hosts, user=by)
        kind = detect_site(reached, framework=None, generator=None)
    except BaseException:
        repositories.local_host(hosts).remove(repository.full_name)
        raise
    return NewRepository(reached, {"framework": kind.framework, "generator": kind.generator}, hosts)
