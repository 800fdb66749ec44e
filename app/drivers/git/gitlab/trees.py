"""Whole trees, single paths and differences of one project of GitLab."""

from collections.abc import Iterator, Sequence

from app.drivers.git.gitlab import values
from app.drivers.git.gitlab.calls import GitLabProject
from app.drivers.git.gitlab.folders import PartialTree
from app.drivers.git.object_ids import require_shas
from app.drivers.git.port import PathChange, TreeEntry
from app.drivers.git.rest.calls import NO_COMMIT
from app.drivers.git.tree_diff import compare_entries

KEYSET = {"pagination": "keyset"}


class GitLabTrees:
    """The trees of one project."""

    def __init__(self, project: GitLabProject) -> None:
        self._project = project

    def full_tree(self, commit: str) -> list[TreeEntry]:
        """Return all entries of a commit, folders included, in the order of Git. Makes one call per 100 entries."""
        require_shas(commit)
        results = [
            values.entry(each)
            for page in self._project.pages(
                "/repository/tree", {"ref": commit, "recursive": "true", **KEYSET}, missing=NO_COMMIT
            )
            for each in page
        ]
        return sorted(results, key=lambda entry: entry.path.encode())

    def entries(self, commit: str, paths: Sequence[str]) -> dict[str, TreeEntry]:
        """Return the entries of the paths that exist."""
        view = self.view(commit, paths)
        results = {path: view.listed(path) for path in paths}
        return {path: entry for path, entry in results.items() if entry is not None}

    def list_folder(self, commit: str, path: str, limit: int) -> list[TreeEntry]:
        """Return the direct entries of a folder, at most `limit` entries."""
        require_shas(commit)
        return PartialTree(self._project, commit).list_folder(path, limit)

    def view(self, commit: str, paths: Sequence[str]) -> PartialTree:
        """Return a view of the tree of a commit for some paths."""
        require_shas(commit)
        view = PartialTree(self._project, commit)
        view.load(paths)
        return view

    def changes(self, old: str, new: str) -> Iterator[PathChange]:
        """Yield every path that differs between two commits, sorted by path. Compares complete trees if GitLab gives up."""
        comparison = self._project.compare(old, new)
        entries = self.entries(new, sorted(comparison.present)) if comparison.complete else {}
        if not comparison.complete or comparison.present - entries.keys():
            yield from compare_entries(self.full_tree(old), self.full_tree(new))
            return
        for path in sorted(comparison.present | comparison.removed, key=str.encode):
            yield PathChange(path, entries.get(path))

    def changed_paths(self, old: str, new: str) -> set[str]:
        """Return the changed paths without their entries."""
        comparison = self._project.compare(old, new)
        if comparison.complete:
            return {*comparison.present, *comparison.removed}
        return {change.path for change in self.changes(old, new)}
