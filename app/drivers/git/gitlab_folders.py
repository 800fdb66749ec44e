"""Looking up single paths of a commit on GitLab, whose trees come a hundred entries at a time."""

from collections.abc import Iterable, Iterator
from itertools import islice

from app.core.concurrency import map_in_order
from app.drivers.git import gitlab_values as values
from app.drivers.git.answers import Refusal
from app.drivers.git.gitlab_calls import GitLabProject
from app.drivers.git.hosted_calls import NO_COMMIT, PAGE
from app.drivers.git.plan import EXECUTABLE, PLAIN
from app.drivers.git.port import TreeEntry
from app.drivers.git.views import FOLDER

FEW_PAGES = 3  # of a folder with more, the paths asked for are looked up one by one
MAX_LINK_BYTES = 4096  # Linux takes no longer target of a symlink


class ParentView:
    """A tree of which the folders of some paths have been listed, and others are as they are needed.

    In a folder of more than 300 entries a submodule is not seen; GitLab itself puts no file in its place.
    """

    def __init__(self, project: GitLabProject, commit: str) -> None:
        self._project, self._commit = project, commit
        self._listings: dict[str, dict[str, TreeEntry]] = {}
        self._large: set[str] = set()
        self._probed: dict[str, TreeEntry | None] = {}
        self._folders: set[str] = set()

    def load(self, paths: Iterable[str]) -> None:
        """Look these paths up, several at once."""
        wanted = set(paths)
        new = sorted({_parent(path) for path in wanted} - self._listings.keys())
        for folder, entries in zip(new, map_in_order(self._start_of, new), strict=True):
            self._keep(folder, entries)
        unseen = [path for path in sorted(wanted) if self._is_unseen(path)]
        self._probed.update(zip(unseen, map_in_order(self._probe, unseen), strict=True))

    def listed(self, path: str) -> TreeEntry | None:
        """What its folder has of a path."""
        self.load([path])
        found = self._listings[_parent(path)].get(path)
        return found if found is not None else self._probed.get(path)

    def find(self, path: str) -> TreeEntry | None:
        """What a path names; of a folder that has been listed itself, only that it is one."""
        return _folder(path) if path in self._folders else self.listed(path)

    def files(self, folder: TreeEntry) -> Iterator[str]:
        """Every path below a folder that is no folder."""
        below = self._listing(folder.path, recursive=True)
        return (entry.path for entry in below if entry.type != FOLDER)

    def _keep(self, folder: str, entries: list[TreeEntry]) -> None:
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
        """A folder's entries, one more than fit its first pages when there are more."""
        return list(islice(self._listing(folder), FEW_PAGES * int(PAGE) + 1))

    def _probe(self, path: str) -> TreeEntry | None:
        """What a path names, asked for alone; only a folder's listing tells a symlink from a file like its target."""
        facts = self._project.file(self._commit, path)
        if facts is None:
            return _folder(path) if next(self._listing(path), None) else None
        plain = facts.executable or facts.size > MAX_LINK_BYTES or b"\n" in self._project.blob(facts.sha)
        if not plain:
            return next((entry for entry in self._listing(_parent(path)) if entry.path == path), None)
        return TreeEntry(path, "blob", EXECUTABLE if facts.executable else PLAIN, facts.sha, facts.size)

    def _listing(self, folder: str, *, recursive: bool = False) -> Iterator[TreeEntry]:
        """What stands in a folder; nothing when there is no such folder. Raises ObjectNotFound for the commit."""
        query = {"ref": self._commit, "path": folder, "pagination": "keyset", "per_page": PAGE}
        path = f"{self._project.path}/repository/tree"
        try:
            for page in self._project.client.pages(path, query | ({"recursive": "true"} if recursive else {})):
                yield from map(values.entry, page)
        except Refusal as fault:
            if fault.status != 404:
                raise
            self._project.read(f"/repository/commits/{self._commit}", {"stats": "false"}, missing=NO_COMMIT)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _folder(path: str) -> TreeEntry:
    return TreeEntry(path, FOLDER, "040000", "", None)
