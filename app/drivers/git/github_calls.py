"""Calls on one repository of GitHub, its refusals told in the port's words."""

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from app.core.paths import path_fault
from app.core.refs import is_branch_name, is_sha
from app.drivers.errors import Broken
from app.drivers.git import github_values as values
from app.drivers.git.answers import Refusal, parses
from app.drivers.git.github_ways import Memory, Way, way
from app.drivers.git.objects import blob_sha
from app.drivers.git.port import ObjectNotFound, RepoRef, Repository, RepositoryUnavailable
from app.drivers.git.rest import TREE_BYTES, Query, RestClient, segment

RAW = "application/vnd.github.raw+json"
PAGE = "100"
NO_COMMIT = "There is no such commit in the repository"
NO_FILE = "There is no such file in the repository"

# What GitHub says when an object is not there: not found; the repository is empty; not the name of an object.
_NOT_THERE = (404, 409, 422)


@dataclass(frozen=True)
class GitHubRepository:
    """One repository, with the client that acts on it, and what is remembered meanwhile."""

    client: RestClient
    repo: RepoRef
    memory: Memory = field(default_factory=Memory)

    @property
    def path(self) -> str:
        """The repository's place in the API."""
        owner, slash, name = self.repo.name.partition("/")
        if not (owner and slash and name) or "/" in name or {owner, name} & {".", ".."}:
            raise RepositoryUnavailable("There is no such repository")
        return f"/repos/{segment(owner)}/{segment(name)}"

    def facts(self) -> Repository:
        """The repository's own facts.

        Raises:
            RepositoryUnavailable: it is gone or closed, or its name has passed to another repository.
        """
        try:
            found = values.repository(self.client.get(self.path, kept=True))
        except Refusal as fault:
            raise RepositoryUnavailable("The repository does not exist or is closed to this account") from fault
        if self.repo.id is not None and found.id != self.repo.id:
            raise RepositoryUnavailable("Another repository stands under this name now; connect it again")
        return found

    def head(self, branch: str) -> str:
        """The sha a branch is at. Raises RepositoryUnavailable."""
        if not is_branch_name(branch):
            raise RepositoryUnavailable("There is no such branch in the repository")
        try:
            return values.head_sha(self.client.get(f"{self.path}/git/ref/heads/{_in_path(branch)}", kept=True))
        except Refusal as fault:
            raise RepositoryUnavailable("There is no such repository or branch") from fault

    def read(self, path: str, params: Query | None = None, *, missing: str, max_bytes: int | None = None) -> Any:
        """Read below the repository. Raises ObjectNotFound with the sentence `missing`."""
        return self._found(lambda: self.client.get(self.path + path, params, max_bytes=max_bytes), missing)

    def pages(self, path: str, params: Query, *, missing: str, items: str | None = None) -> Iterator[list[Any]]:
        """Every page of a list below the repository."""
        pages = self.client.pages(self.path + path, {**params, "per_page": PAGE}, items=items)
        while (page := self._found(lambda: next(pages, None), missing)) is not None:
            yield page

    def tree(self, name: str, *, recursive: bool = False) -> Any:
        """A tree's JSON by the name of the tree or its commit."""
        require_shas(name)
        params = {"recursive": "1"} if recursive else None
        return self.read(f"/git/trees/{name}", params, missing=NO_COMMIT, max_bytes=TREE_BYTES)

    def folder(self, commit: str, path: str) -> Any:
        """The JSON of a folder's tree by its path, which spares the way down to it."""
        require_shas(commit)
        return self.read(f"/git/trees/{segment(f'{commit}:{path}')}", missing=NO_COMMIT, max_bytes=TREE_BYTES)

    def way(self, old: str, new: str) -> Way | None:
        """The way between two commits, asked once; None where one call does not tell it."""
        require_shas(old, new)
        if self.memory.way is None or self.memory.way.ends != (old, new):
            found = self.read(f"/compare/{old}...{new}", {"per_page": PAGE}, missing=NO_COMMIT, max_bytes=TREE_BYTES)
            self.memory.way = way(found, old, new)
        return self.memory.way

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Whether `ancestor` is reachable from `descendant`, or is it."""
        if self.memory.way is not None and self.memory.way.ends == (ancestor, descendant):
            return True
        try:
            require_shas(ancestor, descendant)
            path = f"/compare/{ancestor}...{descendant}"
            return values.reaches(self.read(path, {"per_page": "1", "page": "2"}, missing=NO_COMMIT))
        except ObjectNotFound:
            return False

    def blob(self, sha: str) -> bytes:
        """A blob's bytes, checked against its name."""
        require_shas(sha)
        path = f"{self.path}/git/blobs/{sha}"
        body: bytes = self._found(lambda: self.client.call("GET", path, accept=RAW).body, NO_FILE)
        if blob_sha(body) != sha:
            raise Broken("The Git host gave other bytes than it was asked for")
        return body

    def content(self, commit: str, path: str) -> bytes:
        """The bytes of the file at a path; those over 1 MB come as a blob. The host follows a symlink to a file."""
        require_shas(commit)
        if path_fault(path):
            raise ObjectNotFound(NO_FILE)
        found = self.read(f"/contents/{_in_path(path)}", {"ref": commit}, missing=NO_FILE)
        inline = _inline(found)
        return inline if inline is not None else self.blob(values.sha(found))

    def write(self, method: str, path: str, body: object, *, repeatable: bool = False) -> Any:
        """Write below the repository; gives the answer's JSON."""
        return self.client.call(method, self.path + path, json=body, repeatable=repeatable).json()

    def _found(self, read: Callable[[], Any], missing: str) -> Any:
        try:
            return read()
        except Refusal as fault:
            if fault.status not in _NOT_THERE:
                raise
            self.facts()  # is it the object that is missing, or the repository?
            raise ObjectNotFound(missing) from fault


def require_shas(*names: str) -> None:
    """Refuse what is not the full name of an object. Raises ObjectNotFound."""
    if not all(map(is_sha, names)):
        raise ObjectNotFound("That is not the full name of an object")


def _in_path(text: str) -> str:
    return "/".join(map(segment, text.split("/")))


@parses
def _inline(found: Any) -> bytes | None:
    """The bytes in an answer of the contents API; None when they must be fetched as a blob."""
    if isinstance(found, list) or found["type"] not in ("file", "symlink"):
        raise ObjectNotFound(NO_FILE)
    if found["type"] == "symlink":
        return str(found["target"]).encode()
    return base64.b64decode(found["content"]) if found["encoding"] == "base64" else None
