"""Errors of Git hosts."""

from collections.abc import Sequence

from app.core.limits import KIB
from app.drivers.errors import DriverError, UpstreamRejected


class RepositoryUnavailable(UpstreamRejected):
    """A repository or branch that does not exist or cannot be read with this credential (422 `REPO_UNAVAILABLE`)."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="REPO_UNAVAILABLE")


class GitObjectMissing(DriverError):
    """A commit, blob or path that does not exist in the repository (404)."""


class RepositoryDamaged(GitObjectMissing):
    """An object that is missing or damaged, although a branch or a tree of the repository names it (503)."""

    code = "REPOSITORY_DAMAGED"


class TooLargeToRead(DriverError):
    """A file that has more bytes than its reader takes (413). Its content was not read."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(f"The file has more than {max_bytes // KIB:,} KiB and is too large to be read here")


class BranchExists(DriverError):
    """A branch name that is in use (409)."""


class RepositoryExists(DriverError):
    """A repository name that is in use (409)."""


class PathConflict(DriverError):
    """Changes that do not fit the tree on which they are made (409). Nothing was changed.

    A created path exists, an updated, moved or deleted one does not, or a file has the path of a folder. `paths`
    contains the affected paths.
    """

    def __init__(self, message: str, paths: Sequence[str]) -> None:
        super().__init__(message)
        self.paths = tuple(paths)


class BranchMoved(DriverError):
    """A branch that is no longer at the expected head. Nothing was changed."""
