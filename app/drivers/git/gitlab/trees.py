"""The trees and commits of one project of GitLab."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from app.concurrency.bounded import map_in_order
from app.core.paths import path_error
from app.drivers.git.commit_plan import EXECUTABLE, PLAIN
from app.drivers.git.errors import GitObjectMissing
from app.drivers.git.gitlab import values
from app.drivers.git.gitlab.calls import GitLabCalls
from app.drivers.git.object_ids import require_shas
from app.drivers.git.port import CommitInfo, PathChange, TreeEntry
from app.drivers.git.rest.calls import NO_COMMIT, PAGE
from app.drivers.git.rest.responses import RequestRefused
from app.drivers.git.tree_views import FOLDER, compare_entries

FEW_PAGES = 3  # in a folder with more entries, the requested paths are looked up one by one
MAX_LINK_BYTES = 4096  # maximum length of the target of a symbolic link on Linux
KEYSET = {"pagination": "keyset"}
NO_CHANGE = "No commit of the branch has changed that path"


class PartialTree:
    """A tree whose folders are listed when they are needed.

    A submodule in a folder of more than 300 entries is not visible. GitLab itself refuses a file in its place.
    """

    def __init__(self, project: GitLabCalls, commit: str) -> None:
        self._project, self._commit = project, commit
        self._listings: dict[str, dict[str, TreeEntry]] = {}
        self._large: set[str] = set()
        self._probed: dict[str, TreeEntry | None] = {}
        self._folders: set[str] = set()

    def load(self, paths: Iterable[str]) -> None:
        """Look up these paths in parallel."""
        requested = set(paths)
        new = sorted({_parent(path) for path in requested} - self._listings.keys())
        for folder, entries in zip(new, map_in_order(self._start_of, new), strict=True):
            self._store(folder, entries)
        unseen = [path for path in sorted(requested) if self._is_unseen(path)]
        self._probed.update(zip(unseen, map_in_order(self._probe, unseen), strict=True))

    def listed(self, path: str) -> TreeEntry | None:
        """Return the entry of a path in its folder."""
        self.load([path])
        entry = self._listings[_parent(path)].get(path)
        return entry if entry is not None else self._probed.get(path)

    def find(self, path: str) -> TreeEntry | None:
        """Return the entry of a path. The entry of a listed folder has no sha."""
        return _folder(path) if path in self._folders else self.listed(path)

    def files(self, folder: TreeEntry) -> Iterator[str]:
        below = self._listing(folder.path, recursive=True)
        return (entry.path for entry in below if entry.type != FOLDER)

    def paths_in(self, folder: str) -> Iterable[str]:
        """Return the paths of what a folder contains directly. A folder of more than 300 entries has only the first."""
        if folder not in self._listings:
            self._store(folder, self._start_of(folder))
        return self._listings[folder]

    def _store(self, folder: str, entries: list[TreeEntry]) -> None:
        self._listings[folder] = {entry.path: entry for entry in entries}
        if len(entries) > FEW_PAGES * int(PAGE):
            self._large.add(folder)
        if entries and folder:
            parts = folder.split("/")
            self._folders.update("/".join(parts[:count]) for count in range(1, len(parts) + 1))

    def _is_unseen(self, path: str) -> bool:
        folder = _parent(path)
        return folder in self._large and path not in self._listings[folder] and path not in self._probed

    def _start_of(self, folder: str) -> list[TreeEntry]:
        """Return the entries of the first pages of a folder, and one more if there are further pages."""
        return list(islice(self._listing(folder), FEW_PAGES * int(PAGE) + 1))

    def _probe(self, path: str) -> TreeEntry | None:
        """Look up one path. Only the listing of its folder distinguishes a symbolic link from a file."""
        facts = self._project.file(self._commit, path)
        if facts is None:
            return _folder(path) if next(self._listing(path), None) else None
        is_long = facts.executable or facts.size > MAX_LINK_BYTES
        plain = is_long or b"\n" in self._project.blob(facts.sha, max_bytes=MAX_LINK_BYTES)
        if not plain:
            return next((entry for entry in self._listing(_parent(path)) if entry.path == path), None)
        return TreeEntry(path, "blob", EXECUTABLE if facts.executable else PLAIN, facts.sha, facts.size)

    def list_folder(self, folder: str, limit: int) -> list[TreeEntry]:
        return list(islice(self._listing(folder), limit))

    def _listing(self, folder: str, *, recursive: bool = False) -> Iterator[TreeEntry]:
        """Yield the entries of a folder, none if it does not exist. Raises GitObjectMissing for an unknown commit."""
        query = {"ref": self._commit, "path": folder, "pagination": "keyset", "per_page": PAGE}
        path = f"{self._project.path}/repository/tree"
        try:
            for page in self._project.client.pages(path, query | ({"recursive": "true"} if recursive else {})):
                yield from map(values.entry, page)
        except RequestRefused as fault:
            if fault.status != 404:
                raise
            self._project.require_commit(self._commit)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _folder(path: str) -> TreeEntry:
    return TreeEntry(path, FOLDER, "040000", "", None)


class GitLabTrees(GitLabCalls):
    """The trees of one project."""

    def full_tree(self, commit: str) -> list[TreeEntry]:
        """Return all entries of a commit, folders included, in the order of Git. Makes one call per 100 entries."""
        require_shas(commit)
        results = [
            values.entry(data)
            for page in self.pages(
                "/repository/tree", {"ref": commit, "recursive": "true", **KEYSET}, missing=NO_COMMIT
            )
            for data in page
        ]
        return sorted(results, key=lambda entry: entry.path.encode())

    def entries(self, commit: str, paths: Sequence[str]) -> dict[str, TreeEntry]:
        view = self.view(commit, paths)
        results = {path: view.listed(path) for path in paths}
        return {path: entry for path, entry in results.items() if entry is not None}

    def list_folder(self, commit: str, path: str = "", *, limit: int) -> list[TreeEntry]:
        require_shas(commit)
        return PartialTree(self, commit).list_folder(path, limit)

    def view(self, commit: str, paths: Sequence[str]) -> PartialTree:
        """Return a view of the tree of a commit for some paths."""
        require_shas(commit)
        view = PartialTree(self, commit)
        view.load(paths)
        return view

    def changes(self, old: str, new: str) -> Iterator[PathChange]:
        """Yield every path that differs between two commits, sorted by path.

        Compares complete trees if GitLab gives up.
        """
        comparison = self.read_comparison(old, new)
        entries = self.entries(new, sorted(comparison.present)) if comparison.complete else {}
        if not comparison.complete or comparison.present - entries.keys():
            yield from compare_entries(self.full_tree(old), self.full_tree(new))
            return
        for path in sorted(comparison.present | comparison.removed, key=str.encode):
            yield PathChange(path, entries.get(path))

    def changed_paths(self, old: str, new: str) -> set[str]:
        """Return the changed paths without their entries."""
        comparison = self.read_comparison(old, new)
        if comparison.complete:
            return {*comparison.present, *comparison.removed}
        return {change.path for change in self.changes(old, new)}


class GitLabHistory(GitLabTrees):
    """The commits of one project."""

    def history(self, new: str, *, since: str | None = None) -> Iterator[CommitInfo]:
        """Yield the commits from `new` back to `since` (exclusive), newest first.

        The paths of a merge are those in which it differs from all its parents.
        """
        return map_in_order(self._with_paths, self.listed(new, since))

    def listed(self, new: str, since: str | None) -> Iterator[dict[str, Any]]:
        """Yield the JSON of the same commits, without paths."""
        require_shas(new, *([since] if since else []))
        if since:  # GitLab returns an empty list for a range with an unknown end
            self.require_commit(since)
        params = {"ref_name": f"{since}..{new}" if since else new, "order": "topo"}
        for page in self.pages("/repository/commits", params, missing=NO_COMMIT):
            yield from page

    def last_commit(self, commit: str, path: str) -> CommitInfo:
        """Return the newest commit up to `commit` that changed `path`, without its paths."""
        require_shas(commit)
        if path_error(path):
            raise GitObjectMissing(NO_CHANGE)
        params = {"ref_name": commit, "path": path, "per_page": "1"}
        data = self.read("/repository/commits", params, missing=NO_COMMIT)
        if not data:
            raise GitObjectMissing(NO_CHANGE)
        return values.commit(data[0])

    def _with_paths(self, data: dict[str, Any]) -> CommitInfo:
        sha, parents = values.sha(data), values.parents(data)
        if parents:
            paths = set.intersection(*(self.changed_paths(parent, sha) for parent in parents))
        else:
            paths = {entry.path for entry in self.full_tree(sha) if entry.type != FOLDER}
        return values.commit(data, tuple(sorted(paths, key=str.encode)))
