"""The commits of one project of GitLab with their paths."""

from collections.abc import Iterator
from typing import Any

from app.concurrency.bounded import map_in_order
from app.core.paths import path_error
from app.drivers.git.errors import GitObjectMissing
from app.drivers.git.gitlab import values
from app.drivers.git.gitlab.calls import GitLabProject
from app.drivers.git.gitlab.trees import GitLabTrees
from app.drivers.git.object_ids import require_shas
from app.drivers.git.port import CommitInfo
from app.drivers.git.rest.calls import NO_COMMIT
from app.drivers.git.tree_views import FOLDER

NO_CHANGE = "No commit of the branch has changed that path"


class GitLabHistory:
    """The commits of one project."""

    def __init__(self, project: GitLabProject) -> None:
        self._project, self._trees = project, GitLabTrees(project)

    def between(self, new: str, since: str | None) -> Iterator[CommitInfo]:
        """Yield the commits from `new` back to `since` (exclusive), newest first.

        The paths of a merge are those in which it differs from all its parents.
        """
        return map_in_order(self._with_paths, self.listed(new, since))

    def listed(self, new: str, since: str | None) -> Iterator[dict[str, Any]]:
        """Yield the JSON of the same commits, without paths."""
        require_shas(new, *([since] if since else []))
        if since:  # GitLab returns an empty list for a range with an unknown end
            self._project.read(f"/repository/commits/{since}", {"stats": "false"}, missing=NO_COMMIT)
        params = {"ref_name": f"{since}..{new}" if since else new, "order": "topo"}
        for page in self._project.pages("/repository/commits", params, missing=NO_COMMIT):
            yield from page

    def last(self, commit: str, path: str) -> CommitInfo:
        """Return the newest commit up to `commit` that changed `path`, without its paths."""
        require_shas(commit)
        if path_error(path):
            raise GitObjectMissing(NO_CHANGE)
        params = {"ref_name": commit, "path": path, "per_page": "1"}
        data = self._project.read("/repository/commits", params, missing=NO_COMMIT)
        if not data:
            raise GitObjectMissing(NO_CHANGE)
        return values.commit(data[0])

    def _with_paths(self, data: dict[str, Any]) -> CommitInfo:
        sha, parents = values.sha(data), values.parents(data)
        if parents:
            paths = set.intersection(*(self._trees.changed_paths(parent, sha) for parent in parents))
        else:
            paths = {entry.path for entry in self._trees.full_tree(sha) if entry.type != FOLDER}
        return values.commit(data, tuple(sorted(paths, key=str.encode)))
