"""Commits that a caller names by a branch or a sha. Only commits that a branch contains can be read."""

from app.core.errors import NotFound, UnprocessableEntity
from app.core.refs import is_sha
from app.drivers.git.errors import RepositoryUnavailable
from app.drivers.git.revisions import Revisions
from app.resources.project_content.source import Source

NO_COMMIT = "No branch of the repository contains this commit"


def revisions_of(source: Source) -> Revisions:
    """Return the reader of past commits of a source.

    Raises:
        UnprocessableEntity: the host has none.
    """
    if not isinstance(source.git, Revisions):
        raise UnprocessableEntity("The Git host of this project does not provide a history", code="NOT_SUPPORTED")
    return source.git


def find_commit(source: Source, ref: str | None) -> str:
    """Return the sha of a branch head or of a commit. None is the branch of the source.

    Raises:
        NotFound: the branch does not exist, or no branch contains the commit.
        RepositoryUnavailable: the repository or the working branch cannot be read.
    """
    if ref is None or ref == source.branch:
        return source.git.head(source.repo, source.branch)
    if is_sha(ref):
        if not revisions_of(source).is_reachable(source.repo, ref, branch=source.branch):
            raise NotFound(NO_COMMIT)
        return ref
    try:
        return source.git.head(source.repo, ref)
    except RepositoryUnavailable:
        source.git.repository(source.repo)  # Distinguish a missing branch from a missing repository.
        raise NotFound("There is no such branch in the repository") from None
