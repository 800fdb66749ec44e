"""Whole trees, single paths and differences, out of GitHub's tree objects; a tree is whole here or an error."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from app.core.concurrency import map_in_order
from app.drivers.errors import Broken, Late
from app.drivers.git import github_values as values
from app.drivers.git.differences import Ends, compare_entries, compare_folders
from app.drivers.git.github_calls import GitHubRepository
from app.drivers.git.port import ObjectNotFound, PathChange, TreeEntry
from app.drivers.git.views import FOLDER, FolderView, TreeView, WholeView, folders_of

FEW_CALLS = 3  # up to so many folders of changed files are listed one by one
FEW_FOLDERS = 8  # up to so many, asking folder by folder is lighter than the whole tree
MAX_FOLDERS_COMPARED = 60  # beyond, two whole trees cost fewer calls


class GitHubTrees:
    """The trees of one repository."""

    def __init__(self, repository: GitHubRepository) -> None:
        self._repository = repository

    def whole(self, commit: str) -> list[TreeEntry]:
        """Everything under a commit, folders too, in Git's order.

        The host cuts a recursive tree at 100,000 entries or 7 MB; what is cut is listed, and each folder in it asked
        for again.
        """
        found: list[TreeEntry] = []
        waiting = [_root(commit)]
        while waiting:
            answers = list(map_in_order(self._below, waiting))
            cut = [folder for folder, answer in zip(waiting, answers, strict=True) if answer is None]
            listed = [entry for entries in self.list_folders(cut) for entry in entries]
            found += [*(entry for answer in answers if answer for entry in answer), *listed]
            waiting = [entry for entry in listed if entry.type == FOLDER]
        return sorted(found, key=lambda entry: entry.path.encode())

    def view(self, commit: str, paths: Sequence[str]) -> TreeView:
        """A commit's tree for looking up some paths."""
        if len(folders_of(paths)) < FEW_FOLDERS:
            return self._by_folder(commit, paths)
        return self.view_at_once(commit, paths)

    def view_at_once(self, commit: str, paths: Sequence[str]) -> TreeView:
        """The same in one round trip, where the host gives the tree whole."""
        entries = self._below(_root(commit))
        return WholeView(entries) if entries is not None else self._by_folder(commit, paths)

    def entries(self, commit: str, paths: Sequence[str]) -> dict[str, TreeEntry]:
        """The named paths that exist at a commit."""
        view = self.view(commit, paths)
        found = {path: view.find(path) for path in paths}
        return {path: entry for path, entry in found.items() if entry is not None}

    def changes(self, old: str, new: str) -> Iterator[PathChange]:
        """Every path that differs between two commits, by path.

        One call tells the paths of a push, some more what they are now. Where that is not enough, folders that differ
        are read, as their names are those of their content.
        """
        told = self._told(old, new)
        if told is not None:
            yield from told
            return
        try:
            yield from compare_folders(old, new, self.list_folders, most=MAX_FOLDERS_COMPARED)
        except Ends:
            yield from compare_entries(self.whole(old), self.whole(new))

    def _told(self, old: str, new: str) -> list[PathChange] | None:
        try:
            way = self._repository.way(old, new)
            there = self._there(new, way.present) if way else {}
        except (ObjectNotFound, Broken, Late):  # GitHub gives up on large differences
            return None
        if way is None or not way.present <= there.keys():
            return None
        return [PathChange(path, there.get(path)) for path in sorted({*way.present, *way.gone}, key=str.encode)]

    def _there(self, commit: str, paths: Iterable[str]) -> dict[str, TreeEntry]:
        """What stands at these paths: out of their folders where these are few, else out of the whole tree."""
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
        return _whole_folder(self._repository.folder(commit, path), f"{path}/")

    def list_folders(self, folders: Sequence[TreeEntry]) -> list[list[TreeEntry]]:
        """What stands directly in each of these folders."""
        return list(map_in_order(self._directly_in, folders))

    def _by_folder(self, commit: str, paths: Sequence[str]) -> FolderView:
        view = FolderView(commit, self.list_folders)
        view.load(paths)
        return view

    def _below(self, folder: TreeEntry) -> list[TreeEntry] | None:
        """Everything below a folder; None when the host cuts it short."""
        answer = self._repository.tree(folder.sha, recursive=True)
        entries, truncated = values.entries(answer, _start(folder))
        return None if truncated else entries

    def _directly_in(self, folder: TreeEntry) -> list[TreeEntry]:
        return _whole_folder(self._repository.tree(folder.sha), _start(folder))


def _whole_folder(answer: Any, start: str) -> list[TreeEntry]:
    entries, truncated = values.entries(answer, start)
    if truncated:
        raise Broken("The Git host cannot list a folder of the repository whole")
    return entries


def _root(commit: str) -> TreeEntry:
    return TreeEntry("", FOLDER, "040000", commit, None)


def _start(folder: TreeEntry) -> str:
    return f"{folder.path}/" if folder.path else ""
