"""Calls on one repository of GitHub. Refusals become the errors of the port."""

from dataclasses import dataclass, field, replace
from typing import Any

from app.core.errors import ErrorMessage
from app.core.refs import is_branch_name
from app.drivers.git.errors import GitObjectMissing, RepositoryUnavailable
from app.drivers.git.github import values
from app.drivers.git.object_ids import require_shas
from app.drivers.git.port import CommitInfo, RepositoryFacts, TreeEntry
from app.drivers.git.rest.calls import NO_COMMIT, PAGE, require_blob
from app.drivers.git.rest.client import TREE_BYTES, ById, segment
from app.drivers.git.rest.provider import RemoteRepository
from app.drivers.git.rest.responses import RequestRefused, parses

MAX_FILES = 300  # GitHub "Compare two commits": maximum number of files, all on the first page
MAX_FOLDERS, MAX_FOLDER_ENTRIES = 100, 1000  # in the cache of a provider, which lives for one request or job
RAW = "application/vnd.github.raw+json"


@dataclass(frozen=True)
class Comparison:
    """The changed paths, and the commit in between if there is only one."""

    ends: tuple[str, str]
    present: frozenset[str]
    removed: frozenset[str]
    only: CommitInfo | None = None


@dataclass
class RepositoryCache:
    """The cache of a repository for the lifetime of a provider: blobs, the latest comparison, and small folders.

    Folders are stored by their sha, or that of their commit, and their path.
    """

    blobs: set[str] = field(default_factory=set)
    comparison: Comparison | None = None
    folders: dict[tuple[str, str], list[TreeEntry]] = field(default_factory=dict)

    def store_folder(self, name: tuple[str, str], entries: list[TreeEntry]) -> None:
        """Store the entries of a folder, unless there are many folders or it is large."""
        if len(self.folders) < MAX_FOLDERS and len(entries) <= MAX_FOLDER_ENTRIES:
            self.folders[name] = entries


@parses
def parse_comparison(data: dict[str, Any], old: str, new: str) -> Comparison | None:
    """Parse a comparison. Return None if the commits diverge or the response is incomplete."""
    files = data.get("files") or []
    if data["status"] not in ("ahead", "identical") or len(files) >= MAX_FILES:
        return None
    present = {file["filename"] for file in files if file["status"] != "removed"}
    comparison = Comparison((old, new), frozenset(present), frozenset(values.changed_paths(files) - present))
    if data["total_commits"] != 1 or values.parents(data["commits"][0]) != [old]:
        return comparison
    paths = sorted({*comparison.present, *comparison.removed}, key=str.encode)
    return replace(comparison, only=values.commit(data["commits"][0], tuple(paths)))


class GitHubCalls(RemoteRepository):
    """One repository, its client and its cache."""

    # Not found, empty repository, invalid object name.
    NOT_THERE = frozenset({404, 409, 422})

    memory: RepositoryCache

    @property
    def path(self) -> str:
        owner, slash, name = self.repo.name.partition("/")
        if not (owner and slash and name) or "/" in name or {owner, name} & {".", ".."}:
            raise RepositoryUnavailable("The repository does not exist")
        return f"/repos/{segment(owner)}/{segment(name)}"

    @property
    def by_id(self) -> ById | None:
        """The path by id, to which GitHub redirects calls on a former name of the repository."""
        return ById(self.path, f"/repositories/{segment(self.repo.id)}") if self.repo.id else None

    def facts(self) -> RepositoryFacts:
        """Read the repository.

        Raises:
            RepositoryUnavailable: it does not exist or is not readable, or its name belongs to another repository.
        """
        try:
            data = values.repository(self.client.get(self.path, conditional=True, by_id=self.by_id))
        except RequestRefused as fault:
            raise RepositoryUnavailable("The repository does not exist, or this account cannot read it") from fault
        if self.repo.id is not None and data.id != self.repo.id:
            raise RepositoryUnavailable("This name belongs to another repository now. Connect the repository again")
        return data

    def head(self, branch: str) -> str:
        if not is_branch_name(branch):
            raise RepositoryUnavailable("The branch does not exist in the repository")
        try:
            return values.head_sha(
                self.client.get(
                    f"{self.path}/git/ref/heads/{path_segments(branch)}", conditional=True, by_id=self.by_id
                )
            )
        except RequestRefused as fault:
            raise RepositoryUnavailable(ErrorMessage("The repository or branch does not exist")) from fault

    def read_tree(self, name: str, *, recursive: bool = False) -> Any:
        """Read the JSON of a tree by the sha of the tree or of its commit."""
        require_shas(name)
        params = {"recursive": "1"} if recursive else None
        return self.read(f"/git/trees/{name}", params, missing=NO_COMMIT, max_bytes=TREE_BYTES)

    def read_folder(self, commit: str, path: str) -> Any:
        """Read the JSON of the tree of a folder by its path, without reading the folders above."""
        require_shas(commit)
        return self.read(f"/git/trees/{segment(f'{commit}:{path}')}", missing=NO_COMMIT, max_bytes=TREE_BYTES)

    def comparison(self, old: str, new: str) -> Comparison | None:
        """Return the comparison of two commits, read once. Return None if one call does not contain all of it."""
        require_shas(old, new)
        if self.memory.comparison is None or self.memory.comparison.ends != (old, new):
            data = self.read(f"/compare/{old}...{new}", {"per_page": PAGE}, missing=NO_COMMIT, max_bytes=TREE_BYTES)
            self.memory.comparison = parse_comparison(data, old, new)
        return self.memory.comparison

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        if self.memory.comparison is not None and self.memory.comparison.ends == (ancestor, descendant):
            return True
        try:
            require_shas(ancestor, descendant)
            path = f"/compare/{ancestor}...{descendant}"
            return values.reaches(self.read(path, {"per_page": "1", "page": "2"}, missing=NO_COMMIT))
        except GitObjectMissing:
            return False

    def blob(self, sha: str, *, max_bytes: int) -> bytes:
        require_shas(sha)
        return require_blob(sha, self._raw(f"/git/blobs/{sha}", accept=RAW, max_bytes=max_bytes))


def path_segments(text: str) -> str:
    """Encode a path for a URL and keep its slashes."""
    return "/".join(map(segment, text.split("/")))
