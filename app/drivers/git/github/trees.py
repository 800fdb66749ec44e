"""Complete trees, single paths and differences of one repository of GitHub."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from app.concurrency.bounded import map_in_order
from app.drivers.errors import UpstreamError, UpstreamTimeout
from app.drivers.git.errors import GitObjectMissing
from app.drivers.git.github import values
from app.drivers.git.github.calls import GitHubCalls
from app.drivers.git.port import PathChange, TreeEntry
from app.drivers.git.tree_views import (
    FOLDER,
    FullTree,
    LazyTree,
    TooManyFolders,
    TreeView,
    compare_entries,
    compare_folders,
    folders_of,
)

FEW_CALLS = 3  # maximum number of folders of changed files that are listed one by one
FEW_FOLDERS = 8  # up to this number, listing folders costs less than the complete tree
MAX_FOLDERS_COMPARED = 60  # above this number, two complete trees need fewer calls


class GitHubTrees(GitHubCalls):
    """The trees of one repository."""

    def full_tree(self, commit: str) -> list[TreeEntry]:
        """Return all entries of a commit, folders included, in the order of Git.

        The host truncates a recursive tree at 100,000 entries or 7 MB. A truncated folder is listed, and each of its
        subfolders is read again.
        """
        results: list[TreeEntry] = []
        waiting = [_root(commit)]
        deadline = self.client.listing_deadline()
        while waiting:
            answers = list(deadline.limit(map_in_order(self._below, waiting)))
            truncated_folders = [folder for folder, answer in zip(waiting, answers, strict=True) if answer is None]
            listed = [
                entry
                for entries in deadline.limit(map_in_order(self._directly_in, truncated_folders))
                for entry in entries
            ]
            results += [*(entry for answer in answers if answer for entry in answer), *listed]
            waiting = [entry for entry in listed if entry.type == FOLDER]
        return sorted(results, key=lambda entry: entry.path.encode())

    def view(self, commit: str, paths: Sequence[str]) -> TreeView:
        """Return a view of the tree of a commit for some paths."""
        if len(folders_of(paths)) < FEW_FOLDERS:
            return self._by_folder(commit, paths)
        return self.view_at_once(commit, paths)

    def view_at_once(self, commit: str, paths: Sequence[str]) -> TreeView:
        """Return the same view in one round trip if the host returns the complete tree."""
        entries = self._below(_root(commit))
        return FullTree(entries) if entries is not None else self._by_folder(commit, paths)

    def entries(self, commit: str, paths: Sequence[str]) -> dict[str, TreeEntry]:
        view = self.view(commit, paths)
        results = {path: view.find(path) for path in paths}
        return {path: entry for path, entry in results.items() if entry is not None}

    def list_folder(self, commit: str, path: str = "", *, limit: int) -> list[TreeEntry]:
        """Return the direct entries of a folder, at most `limit` entries, in one call."""
        try:
            answer = self.read_folder(commit, path) if path else self.read_tree(commit)
        except GitObjectMissing:
            if path:
                self.read_tree(commit)
                return []
            raise
        return values.entries(answer, f"{path}/" if path else "")[0][:limit]

    def changes(self, old: str, new: str) -> Iterator[PathChange]:
        """Yield every path that differs between two commits, sorted by path.

        One call returns the paths of a push and a few more their entries. If the response is incomplete, the folders
        with different shas are compared.
        """
        changes = self._known_entries(old, new)
        if changes is not None:
            yield from changes
            return
        try:
            yield from compare_folders(old, new, self.list_folders, max_folders=MAX_FOLDERS_COMPARED)
        except TooManyFolders:
            yield from compare_entries(self.full_tree(old), self.full_tree(new))

    def _known_entries(self, old: str, new: str) -> list[PathChange] | None:
        try:
            comparison = self.comparison(old, new)
            present = self._there(new, comparison.present) if comparison else {}
        except (GitObjectMissing, UpstreamError, UpstreamTimeout):  # GitHub does not return large differences
            return None
        if comparison is None or not comparison.present <= present.keys():
            return None
        return [
            PathChange(path, present.get(path))
            for path in sorted({*comparison.present, *comparison.removed}, key=str.encode)
        ]

    def _there(self, commit: str, paths: Iterable[str]) -> dict[str, TreeEntry]:
        """Return the entries of these paths from their folders if there are few, else from the complete tree."""
        paths = frozenset(paths)
        folders = sorted({path.rpartition("/")[0] for path in paths})
        if len(folders) > FEW_CALLS:
            view = self.view_at_once(commit, sorted(paths))
            return {path: entry for path in paths if (entry := view.find(path)) is not None}
        listed = map_in_order(partial(self._at_path, commit), folders)
        return {entry.path: entry for entries in listed for entry in entries if entry.path in paths}

    def _at_path(self, commit: str, path: str) -> list[TreeEntry]:
        if not path:
            return self._directly_in(_root(commit))
        return _whole_folder(self.read_folder(commit, path), f"{path}/")

    def list_folders(self, folders: Sequence[TreeEntry]) -> list[list[TreeEntry]]:
        """Return the direct entries of each of these folders."""
        return list(map_in_order(self._directly_in, folders))

    def _by_folder(self, commit: str, paths: Sequence[str]) -> LazyTree:
        view = LazyTree(commit, self.list_folders)
        view.load(paths)
        return view

    def _below(self, folder: TreeEntry) -> list[TreeEntry] | None:
        """Return all entries below a folder, or None if the host truncates them."""
        answer = self.read_tree(folder.sha, recursive=True)
        entries, truncated = values.entries(answer, _start(folder))
        return None if truncated else entries

    def _directly_in(self, folder: TreeEntry) -> list[TreeEntry]:
        memory, name = self.memory, (folder.sha, folder.path)
        if name not in memory.folders:
            entries = _whole_folder(self.read_tree(folder.sha), _start(folder))
            memory.store_folder(name, entries)
            return entries
        return memory.folders[name]


def _whole_folder(answer: Any, start: str) -> list[TreeEntry]:
    entries, truncated = values.entries(answer, start)
    if truncated:
        raise UpstreamError("The Git host cannot list a folder of the repository completely")
    return entries


def _root(commit: str) -> TreeEntry:
    return TreeEntry("", FOLDER, "040000", commit, None)


def _start(folder: TreeEntry) -> str:
    return f"{folder.path}/" if folder.path else ""
