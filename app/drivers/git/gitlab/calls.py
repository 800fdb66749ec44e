"""Calls on one project of GitLab. Refusals become the errors of the port."""

from app.core.errors import ErrorMessage
from app.core.paths import path_error
from app.core.refs import is_branch_name
from app.drivers.git.errors import GitObjectMissing, RepositoryUnavailable
from app.drivers.git.gitlab import values
from app.drivers.git.gitlab.values import GitLabComparison, RemoteFile
from app.drivers.git.object_ids import require_shas
from app.drivers.git.port import RepositoryFacts
from app.drivers.git.rest.calls import NO_COMMIT, NO_FILE, require_blob
from app.drivers.git.rest.client import TREE_BYTES, segment
from app.drivers.git.rest.provider import RemoteRepository
from app.drivers.git.rest.responses import RequestRefused


class GitLabCalls(RemoteRepository):
    """One project and its client."""

    NOT_THERE = frozenset({400, 404})

    @property
    def path(self) -> str:
        """The path of the project in the API. It contains the id if known, because names change."""
        if self.repo.id is not None:
            return f"/projects/{segment(self.repo.id)}"
        if not all(self.repo.name.split("/")) or "/" not in self.repo.name:
            raise RepositoryUnavailable("The repository does not exist")
        return f"/projects/{segment(self.repo.name)}"

    def facts(self) -> RepositoryFacts:
        """Read the project. Raises RepositoryUnavailable."""
        try:
            return values.repository(self.client.get(self.path, conditional=True))
        except RequestRefused as fault:
            raise RepositoryUnavailable("The repository does not exist, or this account cannot read it") from fault

    def head(self, branch: str) -> str:
        if not is_branch_name(branch):
            raise RepositoryUnavailable("The branch does not exist in the repository")
        try:
            data = self.client.get(f"{self.path}/repository/branches/{segment(branch)}", conditional=True)
        except RequestRefused as fault:
            raise RepositoryUnavailable(ErrorMessage("The repository or branch does not exist")) from fault
        return values.branch(data).sha

    def read_comparison(self, old: str, new: str) -> GitLabComparison:
        require_shas(old, new)
        params = {"from": old, "to": new, "straight": "true"}
        data = self.read("/repository/compare", params, missing=NO_COMMIT, max_bytes=TREE_BYTES)
        return values.comparison(data)

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        try:
            require_shas(ancestor, descendant)
            return self._merge_base(ancestor, descendant) == ancestor
        except GitObjectMissing:
            return False

    def _merge_base(self, first: str, second: str) -> str:
        return values.sha(self.read("/repository/merge_base", {"refs[]": [first, second]}, missing=NO_COMMIT))

    def require_commit(self, commit: str) -> None:
        self.read(f"/repository/commits/{commit}", {"stats": "false"}, missing=NO_COMMIT)

    def file(self, commit: str, path: str) -> RemoteFile | None:
        """Read the metadata of a file at a commit. Return None if it does not exist."""
        path_of_file = f"{self.path}/repository/files/{segment(path)}"
        try:
            return values.file_facts(self.client.call("HEAD", path_of_file, params={"ref": commit}).headers)
        except RequestRefused as fault:
            if fault.status != 404:
                raise
            return None

    def blob(self, sha: str, *, max_bytes: int) -> bytes:
        require_shas(sha)
        return require_blob(sha, self._raw(f"/repository/blobs/{sha}/raw", max_bytes=max_bytes))

    def content(self, commit: str, path: str, *, max_bytes: int) -> bytes:
        """Read the file at a path."""
        require_shas(commit)
        if path_error(path):
            raise GitObjectMissing(NO_FILE)
        return self._raw(f"/repository/files/{segment(path)}/raw", {"ref": commit}, max_bytes=max_bytes)
