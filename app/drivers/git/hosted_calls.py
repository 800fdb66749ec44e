"""Calls on one repository of a host with a REST API, its refusals told in the port's words: what such hosts share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from app.core.limits import MIB
from app.drivers.errors import Broken
from app.drivers.git.answers import Refusal
from app.drivers.git.objects import blob_sha
from app.drivers.git.port import ObjectNotFound, RepoRef, Repository, TooLargeToRead
from app.drivers.git.rest import Query, RestClient
from app.drivers.http import LIMITS, TooLong

PAGE = "100"
NO_COMMIT = "There is no such commit in the repository"
NO_FILE = "There is no such file in the repository"


@dataclass(frozen=True)
class RepositoryCalls(ABC):
    """One repository, with the client that acts on it."""

    client: RestClient
    repo: RepoRef

    NOT_THERE: ClassVar[frozenset[int]]
    """The statuses by which the host says that an object is not there."""

    @property
    @abstractmethod
    def path(self) -> str:
        """The repository's place in the API."""

    @abstractmethod
    def facts(self) -> Repository:
        """The repository's own facts. Raises RepositoryUnavailable."""

    @abstractmethod
    def head(self, branch: str) -> str:
        """The sha a branch is at. Raises RepositoryUnavailable."""

    @abstractmethod
    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Whether `ancestor` is reachable from `descendant`, or is it."""

    @abstractmethod
    def blob(self, sha: str, *, max_bytes: int = LIMITS.file_bytes) -> bytes:
        """A blob's bytes, checked against its name. Raises ObjectNotFound, TooLargeToRead."""

    @abstractmethod
    def content(self, commit: str, path: str) -> bytes:
        """The bytes of the file at a path."""

    def read(self, path: str, params: Query | None = None, *, missing: str, max_bytes: int | None = None) -> Any:
        """Read below the repository. Raises ObjectNotFound with the sentence `missing`."""
        return self._found(lambda: self.client.get(self.path + path, params, max_bytes=max_bytes), missing)

    def pages(self, path: str, params: Query, *, missing: str, items: str | None = None) -> Iterator[list[Any]]:
        """Every page of a list below the repository."""
        pages = self.client.pages(self.path + path, {**params, "per_page": PAGE}, items=items)
        while (page := self._found(lambda: next(pages, None), missing)) is not None:
            yield page

    def write(self, method: str, path: str, body: object, *, repeatable: bool = False) -> Any:
        """Write below the repository; gives the answer's JSON."""
        return self.client.call(method, self.path + path, json=body, repeatable=repeatable).json()

    def _raw(
        self,
        path: str,
        params: Query | None = None,
        *,
        accept: str | None = None,
        max_bytes: int = LIMITS.file_bytes,
    ) -> bytes:
        """The bytes of a file or blob below the repository."""

        def read() -> bytes:
            return self.client.call("GET", self.path + path, params=params, accept=accept, max_bytes=max_bytes).body

        try:
            body: bytes = self._found(read, NO_FILE)
        except TooLong as fault:
            raise TooLargeToRead(
                f"The file has more than {max_bytes // MIB} MiB, too much to read of its host"
            ) from fault
        return body

    def _found(self, read: Callable[[], Any], missing: str) -> Any:
        try:
            return read()
        except Refusal as fault:
            if fault.status not in self.NOT_THERE:
                raise
            self.facts()  # is it the object that is missing, or the repository?
            raise ObjectNotFound(missing) from fault


def require_blob(sha: str, body: bytes) -> bytes:
    """The bytes, if they are the blob's. Raises Broken."""
    if blob_sha(body) != sha:
        raise Broken("The Git host gave other bytes than it was asked for")
    return body
