"""Calls on one project of GitLab, its refusals told in the port's words."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from app.core.paths import path_fault
from app.core.refs import is_branch_name, is_sha
from app.drivers.errors import Broken
from app.drivers.git import gitlab_values as values
from app.drivers.git.answers import Refusal
from app.drivers.git.gitlab_values import Comparison, FileFacts
from app.drivers.git.objects import blob_sha
from app.drivers.git.port import ObjectNotFound, RepoRef, Repository, RepositoryUnavailable
from app.drivers.git.rest import TREE_BYTES, Query, RestClient, segment

PAGE = "100"
NO_COMMIT = "There is no such commit in the repository"
NO_FILE = "There is no such file in the repository"

_NOT_THERE = (400, 404)


@dataclass(frozen=True)
class GitLabProject:
    """One project, with the client that acts on it."""

    client: RestClient
    repo: RepoRef

    @property
    def path(self) -> str:
        """The project's place in the API: by its id where that is known, as names change."""
        if self.repo.id is not None:
            return f"/projects/{segment(self.repo.id)}"
        if not all(self.repo.name.split("/")) or "/" not in self.repo.name:
            raise RepositoryUnavailable("There is no such repository")
        return f"/projects/{segment(self.repo.name)}"

    def facts(self) -> Repository:
        """The project's own facts. Raises RepositoryUnavailable."""
        try:
            return values.repository(self.client.get(self.path, kept=True))
        except Refusal as fault:
            raise RepositoryUnavailable("The repository does not exist or is closed to this account") from fault

    def head(self, branch: str) -> str:
        """The sha a branch is at. Raises RepositoryUnavailable."""
        if not is_branch_name(branch):
            raise RepositoryUnavailable("There is no such branch in the repository")
        try:
            found = self.client.get(f"{self.path}/repository/branches/{segment(branch)}", kept=True)
        except Refusal as fault:
            raise RepositoryUnavailable("There is no such repository or branch") from fault
        return values.branch(found).sha

    def read(self, path: str, params: Query | None = None, *, missing: str) -> Any:
        """Read below the project. Raises ObjectNotFound with the sentence `missing`."""
        return self._found(lambda: self.client.get(self.path + path, params), missing)

    def pages(self, path: str, params: Query, *, missing: str) -> Iterator[list[Any]]:
        """Every page of a list below the project."""
        pages = self.client.pages(self.path + path, {**params, "per_page": PAGE})
        while (page := self._found(lambda: next(pages, None), missing)) is not None:
            yield page

    def compare(self, old: str, new: str) -> Comparison:
        """What differs between two commits, straight."""
        require_shas(old, new)
        params = {"from": old, "to": new, "straight": "true"}
        path = f"{self.path}/repository/compare"
        found = self._found(lambda: self.client.get(path, params, max_bytes=TREE_BYTES), NO_COMMIT)
        return values.comparison(found)

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Whether `ancestor` is reachable from `descendant`, or is it."""
        try:
            require_shas(ancestor, descendant)
            found = self.read("/repository/merge_base", {"refs[]": [ancestor, descendant]}, missing=NO_COMMIT)
        except ObjectNotFound:
            return False
        return values.sha(found) == ancestor

    def file(self, commit: str, path: str) -> FileFacts | None:
        """What the host tells of a file at a commit, without its bytes; None when there is none."""
        place = f"{self.path}/repository/files/{segment(path)}"
        try:
            return values.file_facts(self.client.call("HEAD", place, params={"ref": commit}).headers)
        except Refusal as fault:
            if fault.status != 404:
                raise
            return None

    def blob(self, sha: str) -> bytes:
        """A blob's bytes, checked against its name."""
        require_shas(sha)
        path = f"{self.path}/repository/blobs/{sha}/raw"
        body: bytes = self._found(lambda: self.client.call("GET", path).body, NO_FILE)
        if blob_sha(body) != sha:
            raise Broken("The Git host gave other bytes than it was asked for")
        return body

    def content(self, commit: str, path: str) -> bytes:
        """The bytes of the file at a path."""
        require_shas(commit)
        if path_fault(path):
            raise ObjectNotFound(NO_FILE)
        place = f"{self.path}/repository/files/{segment(path)}/raw"
        body: bytes = self._found(lambda: self.client.call("GET", place, params={"ref": commit}).body, NO_FILE)
        return body

    def write(self, method: str, path: str, body: object) -> Any:
        """Write below the project, once; gives the answer's JSON."""
        return self.client.call(method, self.path + path, json=body).json()

    def _found(self, read: Callable[[], Any], missing: str) -> Any:
        try:
            return read()
        except Refusal as fault:
            if fault.status not in _NOT_THERE:
                raise
            self.facts()  # is it the object that is missing, or the project?
            raise ObjectNotFound(missing) from fault


def require_shas(*names: str) -> None:
    """Refuse what is not the full name of an object. Raises ObjectNotFound."""
    if not all(map(is_sha, names)):
        raise ObjectNotFound("That is not the full name of an object")
