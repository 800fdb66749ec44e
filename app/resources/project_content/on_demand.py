"""What a read may bring about: the index of a branch nobody has asked for yet. Runs before the view, outside it."""

from app import transactions
from app.core.errors import NotFound
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import RepositoryUnavailable
from app.models.project import Project
from app.models.project_content import ContentIndex
from app.models.user import User
from app.resources.project_content import indexes, indexing
from app.resources.project_content.source import source_of


def index_of(
    project: Project, working: ContentIndex | None, ref: str | None, *, hosts: GitHosts, by: User
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
