"""Calls on one repository of a REST host. Refusals become the errors of the port."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from app.drivers.errors import UpstreamError
from app.drivers.git.errors import GitObjectMissing, RepositoryUnavailable, TooLargeToRead
from app.drivers.git.object_ids import blob_sha
from app.drivers.git.port import RepoRef, RepositoryFacts
from app.drivers.git.rest.client import ById, Query, RestClient
from app.drivers.git.rest.responses import RequestRefused
from app.drivers.http.client import LIMITS, ResponseTooLarge

PAGE = "100"
NO_COMMIT = "The commit does not exist in the repository"
NO_FILE = "The file does not exist in the repository"


class RepositoryCalls(ABC):
    """One repository and its client. `deadline_s` bounds one call with its retries."""

    def __init__(self, client: RestClient, repo: RepoRef, deadline_s: float) -> None:
        self.client, self.repo, self._deadline_s = client, repo, deadline_s

    NOT_THERE: ClassVar[frozenset[int]]
    """Statuses of the host for a missing object."""

    @property
    @abstractmethod
    def path(self) -> str:
        """The path of the repository in the API."""

    @property
    def by_id(self) -> ById | None:
        """The path of the repository that does not change with its name, if the host has one."""
        return None

    @abstractmethod
    def facts(self) -> RepositoryFacts:
        """Read the repository. Raises RepositoryUnavailable."""

    @abstractmethod
    def head(self, branch: str) -> str:
        """Return the head commit of a branch. Raises RepositoryUnavailable."""

    def find_head(self, branch: str) -> str | None:
        """Return the head commit of a branch, or None if the repository has no such branch."""
        try:
            return self.head(branch)
        except RepositoryUnavailable:
            self.facts()
            return None

    @abstractmethod
    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Return whether `ancestor` is reachable from `descendant` or equal to it."""

    @abstractmethod
    def blob(self, sha: str, *, max_bytes: int) -> bytes:
        """Read a blob of at most 25 MiB and compare it with its sha. Raises GitObjectMissing, TooLargeToRead."""

    def read(self, path: str, params: Query | None = None, *, missing: str, max_bytes: int | None = None) -> Any:
        """Read JSON below the repository. Raises GitObjectMissing with the message `missing`."""
        return self._translated(
            lambda: self.client.get(self.path + path, params, max_bytes=max_bytes, by_id=self.by_id), missing
        )

    def pages(self, path: str, params: Query, *, missing: str, items: str | None = None) -> Iterator[list[Any]]:
        """Yield every page of a list below the repository."""
        pages = self.client.pages(self.path + path, {**params, "per_page": PAGE}, items=items, by_id=self.by_id)
        while (page := self._translated(lambda: next(pages, None), missing)) is not None:
            yield page

    def write(self, method: str, path: str, body: object, *, repeatable: bool = False) -> Any:
        """Write below the repository. Return the JSON of the response."""
        return self.client.call(method, self.path + path, json=body, repeatable=repeatable, by_id=self.by_id).json()

    def remove(self, path: str) -> None:
        """Send a DELETE below the repository. Raises RequestRefused."""
        self.client.call("DELETE", self.path + path, repeatable=True, by_id=self.by_id)

    def _raw(self, path: str, params: Query | None = None, *, accept: str | None = None, max_bytes: int) -> bytes:
        """Read the bytes of a file or blob of at most 25 MiB below the repository."""
        max_bytes = min(max_bytes, LIMITS.file_bytes)

        def read() -> bytes:
            return self.client.call(
                "GET", self.path + path, params=params, accept=accept, max_bytes=max_bytes, by_id=self.by_id
            ).body

        try:
            body: bytes = self._translated(read, NO_FILE)
        except ResponseTooLarge as fault:
            raise TooLargeToRead(max_bytes) from fault
        return body

    def _translated(self, read: Callable[[], object], missing: str) -> Any:
        try:
            return read()
        except RequestRefused as fault:
            if fault.status not in self.NOT_THERE:
                raise
            self.facts()  # Distinguish a missing object from a missing repository.
            raise GitObjectMissing(missing) from fault


def require_blob(sha: str, body: bytes) -> bytes:
    """Return the bytes if they match the sha of the blob. Raises UpstreamError."""
    if blob_sha(body) != sha:
        raise UpstreamError("The Git host returned other bytes than requested")
    return body
