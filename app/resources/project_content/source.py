"""The repository, branch and credential from which the content of a project is read, and its readable commits."""

from dataclasses import dataclass

from app.core.errors import Conflict, ErrorMessage, NotFound, UnprocessableEntity
from app.core.ids import HasId
from app.core.refs import is_sha
from app.drivers.git.errors import RepositoryUnavailable
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import EntryType, Repository
from app.drivers.git.revisions import Revisions
from app.models.project import Project
from app.resources.git_provider.provider_selection import open_repository

NO_COMMIT = "No branch of the repository contains this commit"


@dataclass(frozen=True)
class Source:
    """A branch of a repository. With `commits_blobs`, a commit needs no bytes of blobs that the repository has."""

    repository: Repository
    branch: str
    commits_blobs: bool = False


class Disconnected(Conflict):
    """A call that needs the repository of a disconnected project (409)."""

    code, message = "DISCONNECTED", ErrorMessage("Connect a repository to this project first")


def source_of(project: Project, hosts: GitHosts, *, branch: str | None = None, user: HasId | None = None) -> Source:
    """Return the source of the working branch of a project, or of another branch.

    Raises:
        Disconnected: the project has no repository.
        ReconnectRequired, RepositoryUnavailable: no credential can read it.
    """
    if not project.repository or not (branch or project.branch):
        raise Disconnected
    commits_blobs = hosts.capabilities(project.provider).commits_blobs
    return Source(open_repository(project, hosts=hosts, user=user), branch or project.branch, commits_blobs)


def revisions_of(source: Source) -> Revisions:
    """Return the reader of past commits of a source.

    Raises:
        UnprocessableEntity: the host has none.
    """
    if not isinstance(source.repository, Revisions):
        raise UnprocessableEntity("The Git host of this project does not provide a history", code="NOT_SUPPORTED")
    return source.repository


def find_commit(source: Source, ref: str | None) -> str:
    """Return the sha of a branch head or of a commit. None is the branch of the source.

    Raises:
        NotFound: the branch does not exist, or no branch contains the commit.
        RepositoryUnavailable: the repository or the working branch cannot be read.
    """
    if ref is None or ref == source.branch:
        return source.repository.head(source.branch)
    if is_sha(ref):
        if not is_readable(source, ref):
            raise NotFound(NO_COMMIT)
        return ref
    try:
        return source.repository.head(ref)
    except RepositoryUnavailable:
        source.repository.facts()  # Distinguish a missing branch from a missing repository.
        raise NotFound("There is no such branch in the repository") from None


def is_readable(source: Source, commit: str) -> bool:
    """Return whether a branch of the repository contains a commit. Other objects of a repository are not readable."""
    return revisions_of(source).is_reachable(commit, branch=source.branch)


def is_version(source: Source, path: str, blob: str, *, base_sha: str | None = None) -> bool:
    """Return whether a blob was a version of a file on the branch of the source. Calls the Git host.

    If a branch contains the commit `base_sha` with this version, its age does not matter. Else the search is bounded
    (`Revisions.has_version`).
    """
    if base_sha is not None and is_readable(source, base_sha):
        entry = source.repository.entries(base_sha, [path]).get(path)
        if entry is not None and entry.type == EntryType.BLOB and entry.sha == blob:
            return True
    head = source.repository.head(source.branch)
    return revisions_of(source).has_version(head, path, blob)
