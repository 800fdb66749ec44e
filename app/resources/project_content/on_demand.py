"""What a read may bring about: the index of a branch nobody has asked for yet. Runs before the view, outside it."""

from app import transactions
from app.core.errors import NotFound
from app.core.ids import Identified
from app.drivers.errors import DriverError
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import RepoRef, RepositoryUnavailable
from app.extensions import db
from app.models.project import Project, Provider
from app.models.project_content import ContentIndex, IndexStatus
from app.resources.project_content import indexes, indexing
from app.resources.project_content.source import source_of
from app.resources.project_content.unchanged import Known


def index_of(
    project: Project, working: ContentIndex | None, ref: str | None, *, hosts: GitHosts, by: Identified
) -> ContentIndex | None:
    """The index of the branch asked for; another branch than the working one is indexed when it is first wanted.

    Raises:
        NotFound: the repository has no such branch.
    """
    if ref is None or ref == project.branch:
        return working
    source = source_of(project, hosts, branch=ref, actor=by)
    try:
        head = source.git.head(source.repo, ref)
    except RepositoryUnavailable as error:
        raise NotFound("There is no such branch") from error
    found = indexes.find(project, ref)
    if found is None or found.commit_sha != head:
        with transactions.writing():
            found = indexes.ensure(project, ref)
            indexing.ask(found, priority=10)
    return found


def noticed(project: Project, index: ContentIndex | None, *, hosts: GitHosts) -> ContentIndex | None:
    """The same index, told `stale` and asked to catch up where a local branch has moved on without it."""
    if index is None or index.status != IndexStatus.READY or index.commit_sha is None:
        return index
    head = _local_head(project.provider, project.repository, index.branch, hosts)
    return index if head in (None, index.commit_sha) else _told_stale(index.id, str(head))


def has_moved(known: Known, *, hosts: GitHosts) -> bool:
    """Whether a local branch has moved on without its index."""
    return _local_head(known.provider, known.repository, known.branch, hosts) not in (None, known.commit_sha)


def _local_head(provider: Provider, repository: str, branch: str, hosts: GitHosts) -> str | None:
    """Where the branch is; None where that cannot be told without asking over the network."""
    if provider != Provider.LOCAL or hosts.local is None:
        return None
    try:
        return hosts.local.head(RepoRef(repository), branch)
    except DriverError:
        return None


def _told_stale(index_id: str, head: str) -> ContentIndex | None:
    """As long as it still is: a job may have been faster, or the project be gone."""
    with transactions.writing():
        index = db.session.get(ContentIndex, index_id, with_for_update=True, populate_existing=True)
        if index is not None:
            _tell_stale(index, head)
    return index


def _tell_stale(index: ContentIndex, head: str) -> None:
    if index.status == IndexStatus.READY and index.commit_sha != head:
        index.status = IndexStatus.STALE
        indexing.ask(index, priority=10)
