"""Looking at a repository before it is connected: whether the caller reaches it, and what kind of site it holds.

Talks to the host, so it runs before the transaction.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.errors import Invalid
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import GitProvider, RepoRef
from app.models.project import Generator, Project, Provider
from app.models.user import User
from app.resources.git_provider.service import connect
from app.resources.project.detection import Kind, detect


@dataclass(frozen=True)
class Place:
    """A branch of a repository, as somebody named it."""

    provider: Provider
    repository: str
    repository_id: str | None
    branch: str


@dataclass(frozen=True)
class Reached:
    """A branch that was read with somebody's credential: the host's own name and id of its repository, and the login."""

    provider: Provider
    repository: str
    repository_id: str | None
    branch: str
    account: str | None
    head: str
    git: GitProvider
    installation_id: str | None = None


def reach(place: Place, organization_id: str, *, hosts: GitHosts, actor: User) -> Reached:
    """Read the repository and the branch's head with the caller's credential.

    Raises:
        RepositoryUnavailable: one of them cannot be read, the caller may not write to it, or the repository is another
            organization's.
    """
    connection = connect(place.provider, place.repository, organization_id, hosts=hosts, actor=actor)
    repo = RepoRef(place.repository, place.repository_id)
    facts = connection.git.repository(repo)
    connection.check(facts)
    head = connection.git.head(RepoRef(facts.full_name, facts.id), place.branch)
    installation_id = connection.installation_of(facts)
    return Reached(
        place.provider, facts.full_name, facts.id, place.branch, connection.account, head, connection.git,
        installation_id,
    )  # fmt: skip


def recognise(reached: Reached, *, framework: str | None, generator: Generator | None) -> Kind:
    """What kind of site the branch holds; what is given already is not overruled."""
    if framework is not None and generator is not None:
        return Kind(generator, framework)
    found = detect(reached.git, RepoRef(reached.repository, reached.repository_id), reached.head)
    return Kind(generator or found.generator, framework or found.framework)


def changed_place(project: Project, changes: Mapping[str, Any]) -> Place | None:
    """Where a project is to be connected after `changes`; what they leave out stays. None is to disconnect it.

    Raises:
        Invalid: the project is disconnected, and the changes do not tell where to connect it.
    """
    if changes.get("repository") == "" or changes.get("branch") == "":
        return None
    repository = changes.get("repository", project.repository)
    branch = changes.get("branch", project.branch)
    if not repository or not branch:
        raise Invalid.field("branch" if repository else "repository", "Tell which repository and branch to connect")
    same = repository == project.repository and changes.get("provider", project.provider) == project.provider
    repository_id = changes.get("repository_id", project.repository_id if same else None)
    return Place(changes.get("provider", project.provider), repository, repository_id, branch)
