"""Calls on one repository of GitHub, its refusals told in the port's words."""

import base64
from dataclasses import dataclass, field
from typing import Any

from app.core.paths import path_fault
from app.core.refs import is_branch_name
from app.drivers.git import github_values as values
from app.drivers.git.answers import Refusal, parses
from app.drivers.git.github_ways import Memory, Way, way
from app.drivers.git.hosted_calls import NO_COMMIT, NO_FILE, PAGE, RepositoryCalls, require_blob
from app.drivers.git.objects import require_shas
from app.drivers.git.port import ObjectNotFound, Repository, RepositoryUnavailable
from app.drivers.git.rest import TREE_BYTES, segment
from app.drivers.http import LIMITS

RAW = "application/vnd.github.raw+json"


@dataclass(frozen=True)
class GitHubRepository(RepositoryCalls):
    """One repository, with the client that acts on it, and what is remembered meanwhile."""

    # Not found; the repository is empty; not the name of an object.
    NOT_THERE = frozenset({404, 409, 422})

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

    def blob(self, sha: str, *, max_bytes: int = LIMITS.file_bytes) -> bytes:
        """A blob's bytes, checked against its name."""
        require_shas(sha)
        return require_blob(sha, self._raw(f"/git/blobs/{sha}", accept=RAW, max_bytes=max_bytes))

    def content(self, commit: str, path: str) -> bytes:
        """The bytes of the file at a path; those over 1 MB come as a blob. The host follows a symlink to a file."""
        require_shas(commit)
        if path_fault(path):
            raise ObjectNotFound(NO_FILE)
        found = self.read(f"/contents/{_in_path(path)}", {"ref": commit}, missing=NO_FILE)
        inline = _inline(found)
        return inline if inline is not None else self.blob(values.sha(found))


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
