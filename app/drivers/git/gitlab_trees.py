"""Whole trees, single paths and differences of one project of GitLab."""

from collections.abc import Iterable, Iterator, Sequence

from app.core.concurrency import map_in_order
from app.drivers.errors import Broken
from app.drivers.git import gitlab_values as values
from app.drivers.git.answers import Refusal
from app.drivers.git.differences import compare_entries
from app.drivers.git.gitlab_calls import NO_COMMIT, GitLabProject, require_shas
from app.drivers.git.port import PathChange, TreeEntry
from app.drivers.git.views import FOLDER

KEYSET = {"pagination": "keyset"}


class GitLabTrees:
    """The trees of one project."""

    def __init__(self, project: GitLabProject) -> None:
        self._project = project

    def whole(self, commit: str) -> list[TreeEntry]:
        """Everything under a commit, folders too, in Git's order; page by page, so as many calls as hundreds of files."""
        require_shas(commit)
        found = [
            values.entry(each)
            for page in self._project.pages(
                "/repository/tree", {"ref": commit, "recursive": "true", **KEYSET}, missing=NO_COMMIT
            )
            for each in page
        ]
        return sorted(found, key=lambda entry: entry.path.encode())

    def entries(self, commit: str, paths: Sequence[str]) -> dict[str, TreeEntry]:
        """The named paths that exist."""
        view = self.view(commit, paths)
        found = {path: view.listed(path) for path in paths}
        return {path: entry for path, entry in found.items() if entry is not None}

    def view(self, commit: str, paths: Sequence[str]) -> "ParentView":
        """A commit's tree for looking up some paths."""
        require_shas(commit)
        view = ParentView(self, commit)
        view.load({path.rpartition("/")[0] for path in paths})
        return view

    def changes(self, old: str, new: str) -> Iterator[PathChange]:
        """Every path that differs between two commits, by path."""
        told = self._project.compare(old, new)
        if not told.complete:
            yield from compare_entries(self.whole(old), self.whole(new))
            return
        entries = self.entries(new, sorted(told.present))
        if told.present - entries.keys():
            raise Broken("The Git host tells of files that it does not have")
        for path in sorted(told.present | told.gone, key=str.encode):
            yield PathChange(path, entries.get(path))

    def changed_paths(self, old: str, new: str) -> set[str]:
        """The same without what stands there now."""
        told = self._project.compare(old, new)
        if told.complete:
            return {*told.present, *told.gone}
        return {change.path for change in self.changes(old, new)}

    def folder(self, commit: str, path: str, *, recursive: bool = False) -> list[TreeEntry]:
        """What stands in a folder; nothing when there is no such folder. Raises ObjectNotFound for the commit."""
        query = {"ref": commit, "path": path, **KEYSET, **({"recursive": "true"} if recursive else {})}
        try:
            pages = self._project.client.pages(f"{self._project.path}/repository/tree", {**query, "per_page": "100"})
            return [values.entry(each) for page in pages for each in page]
        except Refusal as fault:
            if fault.status != 404:
                raise
        self._project.read(f"/repository/commits/{commit}", {"stats": "false"}, missing=NO_COMMIT)
        return []


class ParentView:
    """A tree of which the folders of some paths have been listed, and others are as they are needed."""

    def __init__(self, trees: GitLabTrees, commit: str) -> None:
        self._trees, self._commit = trees, commit
        self._listings: dict[str, dict[str, TreeEntry]] = {}
        self._folders: set[str] = set()

    def load(self, folders: Iterable[str]) -> None:
        """List these folders."""
        new = [folder for folder in folders if folder not in self._listings]
        listings = map_in_order(lambda folder: self._trees.folder(self._commit, folder), new)
        for folder, entries in zip(new, listings, strict=True):
            self._listings[folder] = {entry.path: entry for entry in entries}
            if entries and folder:
                parts = folder.split("/")
                self._folders.update("/".join(parts[:count]) for count in range(1, len(parts) + 1))

    def listed(self, path: str) -> TreeEntry | None:
        """What its folder's listing has of a path."""
        folder = path.rpartition("/")[0]
        self.load([folder])
        return self._listings[folder].get(path)

    def find(self, path: str) -> TreeEntry | None:
        """What a path names; of a folder that has been listed itself, only that it is one."""
        if path in self._folders:
            return TreeEntry(path, FOLDER, "040000", "", None)
        return self.listed(path)

    def files(self, folder: TreeEntry) -> Iterator[str]:
        """Every path below a folder that is no folder."""
        below = self._trees.folder(self._commit, folder.path, recursive=True)
        return (entry.path for entry in below if entry.type != FOLDER)
