"""Reading of a few folders and files of a commit for the detection of its site generator."""

import time
from dataclasses import dataclass, field

from app.content import detect as detection
from app.drivers.git.errors import GitObjectMissing, TooLargeToRead
from app.drivers.git.port import EntryType, Repository, TreeEntry
from app.models.project import Generator

MAX_ROOT_ENTRIES, MAX_FOLDER_ENTRIES = 300, 100
MAX_READS = 5
"""Folders and files read besides the root folder. Together with the root at most eight calls, at 100 entries a call."""

DEADLINE_S = 3.0
"""No read starts later than this after the first: a project is created without a generator rather than late."""


@dataclass(frozen=True)
class SiteKind:
    """A generator and a UI framework; None where unknown."""

    generator: Generator | None
    framework: str | None


@dataclass
class CommitFiles:
    """The files of one commit, read from the host on demand at most `reads` times besides the root folder."""

    repository: Repository
    commit: str
    reads: int = MAX_READS
    deadline_s: float = DEADLINE_S
    _started: float = field(default_factory=time.monotonic)
    _folders: dict[str, dict[str, TreeEntry]] = field(default_factory=dict)

    def names(self, folder: str) -> frozenset[str]:
        """Return the names directly in a folder; none if the limit of reads is reached."""
        return frozenset(self._list(folder))

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a small file of a folder that was listed, or None."""
        folder, _, name = path.rpartition("/")
        entry = self._folders.get(f"{folder}/" if folder else "", {}).get(name)
        if entry is None or entry.type != EntryType.BLOB or not self._may_read(entry.size):
            return None
        try:
            return self.repository.blob(entry.sha, max_bytes=detection.MAX_MANIFEST_BYTES)
        except (GitObjectMissing, TooLargeToRead):
            return None

    def _may_read(self, size: int | None) -> bool:
        if (size or 0) > detection.MAX_MANIFEST_BYTES or not self.reads or self._is_late():
            return False
        self.reads -= 1
        return True

    def _is_late(self) -> bool:
        return time.monotonic() - self._started >= self.deadline_s

    def _list(self, folder: str) -> dict[str, TreeEntry]:
        if folder not in self._folders:
            if folder and not self._may_read(None):
                return {}
            limit = MAX_FOLDER_ENTRIES if folder else MAX_ROOT_ENTRIES
            listing = self.repository.list_folder(self.commit, folder.removesuffix("/"), limit=limit)
            self._folders[folder] = {_name(entry): entry for entry in listing}
        return self._folders[folder]


def detect(repository: Repository, commit: str) -> SiteKind:
    """Detect the kind of site of a commit. The number of calls does not depend on the size of the repository."""
    site = detection.detect(CommitFiles(repository, commit))
    return SiteKind(Generator(site.generator) if site.generator else None, site.framework)


def _name(entry: TreeEntry) -> str:
    name = entry.path.rpartition("/")[2]
    return name if entry.type in tuple(EntryType) else f"{name}/"
