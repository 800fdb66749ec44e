"""Calls on one project of GitLab, its refusals told in the port's words."""

from dataclasses import dataclass

from app.core.paths import path_fault
from app.core.refs import is_branch_name
from app.drivers.git import gitlab_values as values
from app.drivers.git.answers import Refusal
from app.drivers.git.gitlab_values import Comparison, FileFacts
from app.drivers.git.hosted_calls import NO_COMMIT, NO_FILE, RepositoryCalls, require_blob
from app.drivers.git.objects import require_shas
from app.drivers.git.port import ObjectNotFound, Repository, RepositoryUnavailable
from app.drivers.git.rest import TREE_BYTES, segment
from app.drivers.http import LIMITS


@dataclass(frozen=True)
class GitLabProject(RepositoryCalls):
    """One project, with the client that acts on it."""

    NOT_THERE = frozenset({400, 404})

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

    def compare(self, old: str, new: str) -> Comparison:
        """What differs between two commits, straight."""
        require_shas(old, new)
        params = {"from": old, "to": new, "straight": "true"}
        found = self.read("/repository/compare", params, missing=NO_COMMIT, max_bytes=TREE_BYTES)
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

    def blob(self, sha: str, *, max_bytes: int = LIMITS.file_bytes) -> bytes:
        """A blob's bytes, checked against its name."""
        require_shas(sha)
        return require_blob(sha, self._raw(f"/repository/blobs/{sha}/raw", max_bytes=max_bytes))

    def content(self, commit: str, path: str) -> bytes:
        """The bytes of the file at a path."""
        require_shas(commit)
        if path_fault(path):
            raise ObjectNotFound(NO_FILE)
        return self._raw(f"/repository/files/{segment(path)}/raw", {"ref": commit})
