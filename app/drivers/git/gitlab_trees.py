"""Whole trees, single paths and differences of one project of GitLab."""

from collections.abc import Iterator, Sequence

from app.drivers.git import gitlab_values as values
from app.drivers.git.differences import compare_entries
from app.drivers.git.gitlab_calls import GitLabProject
from app.drivers.git.gitlab_folders import ParentView
from app.drivers.git.hosted_calls import NO_COMMIT
from app.drivers.git.objects import require_shas
from app.drivers.git.port import PathChange, TreeEntry

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

    def view(self, commit: str, paths: Sequence[str]) -> ParentView:
        """A commit's tree for looking up some paths."""
        require_shas(commit)
        view = ParentView(self._project, commit)
        view.load(paths)
        return view

    def changes(self, old: str, new: str) -> Iterator[PathChange]:
        """Every path that differs between two commits, by path; out of whole trees where GitLab tells less."""
        told = self._project.compare(old, new)
        entries = self.entries(new, sorted(told.present)) if told.complete else {}
        if not told.complete or told.present - entries.keys():
            yield from compare_entries(self.whole(old), self.whole(new))
            return
        for path in sorted(told.present | told.gone, key=str.encode):
            yield PathChange(path, entries.get(path))

    def changed_paths(self, old: str, new: str) -> set[str]:
        """The same without what stands there now."""
        told = self._project.compare(old, new)
        if told.complete:
            return {*told.present, *told.gone}
        return {change.path for change in self.changes(old, new)}
