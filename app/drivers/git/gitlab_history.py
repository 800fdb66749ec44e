"""The commits of one project of GitLab, each with its paths."""

from collections.abc import Iterator
from typing import Any

from app.core.concurrency import map_in_order
from app.core.paths import path_fault
from app.drivers.git import gitlab_values as values
from app.drivers.git.gitlab_calls import GitLabProject
from app.drivers.git.gitlab_trees import GitLabTrees
from app.drivers.git.hosted_calls import NO_COMMIT
from app.drivers.git.objects import require_shas
from app.drivers.git.port import CommitInfo, ObjectNotFound
from app.drivers.git.views import FOLDER

NO_CHANGE = "No commit of the branch has changed that path"


class GitLabHistory:
    """The commits of one project."""

    def __init__(self, project: GitLabProject) -> None:
        self._project, self._trees = project, GitLabTrees(project)

    def between(self, new: str, since: str | None) -> Iterator[CommitInfo]:
        """The commits from `new` back to, without, `since`, newest first.

        A merge is given the paths in which it differs from all its parents: what it changed itself.
        """
        return map_in_order(self._with_paths, self.listed(new, since))

    def listed(self, new: str, since: str | None) -> Iterator[dict[str, Any]]:
        """The same as the host lists them, without paths."""
        require_shas(new, *([since] if since else []))
        if since:  # a range with an unknown end is an empty list there
            self._project.read(f"/repository/commits/{since}", {"stats": "false"}, missing=NO_COMMIT)
        params = {"ref_name": f"{since}..{new}" if since else new, "order": "topo"}
        for page in self._project.pages("/repository/commits", params, missing=NO_COMMIT):
            yield from page

    def last(self, commit: str, path: str) -> CommitInfo:
        """The newest commit at or before `commit` that changed `path`, without its paths."""
        require_shas(commit)
        if path_fault(path):
            raise ObjectNotFound(NO_CHANGE)
        params = {"ref_name": commit, "path": path, "per_page": "1"}
        found = self._project.read("/repository/commits", params, missing=NO_COMMIT)
        if not found:
            raise ObjectNotFound(NO_CHANGE)
        return values.commit(found[0])

    def _with_paths(self, found: dict[str, Any]) -> CommitInfo:
        sha, parents = values.sha(found), values.parents(found)
        if parents:
            paths = set.intersection(*(self._trees.changed_paths(parent, sha) for parent in parents))
        else:
            paths = {entry.path for entry in self._trees.whole(sha) if entry.type != FOLDER}
        return values.commit(found, tuple(sorted(paths, key=str.encode)))
