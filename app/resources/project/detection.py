"""What kind of site a commit holds, read from the host; `app.core.content.detect` knows the signs."""

from dataclasses import dataclass

from app.core.content import detect as signs
from app.drivers.git.port import EntryType, GitProvider, ObjectNotFound, RepoRef, TreeEntry
from app.models.project import Generator

MAX_DEPTH = 4


@dataclass(frozen=True)
class Kind:
    """A generator and a UI framework; None where nothing tells."""

    generator: Generator | None
    framework: str | None


def detect(git: GitProvider, repo: RepoRef, commit: str) -> Kind:
    """Look at the tree and a few small files of a commit; deep paths count by their first folders only."""
    near: dict[str, TreeEntry | None] = {}
    for entry in git.tree(repo, commit):
        parts = entry.path.split("/", MAX_DEPTH)
        near["/".join(parts[:MAX_DEPTH])] = entry if len(parts) <= MAX_DEPTH else None

    def read(path: str) -> bytes | None:
        return _read(git, repo, near.get(path))

    found = signs.detect(near, read)
    return Kind(Generator(found.generator) if found.generator else None, found.framework)


def _read(git: GitProvider, repo: RepoRef, entry: TreeEntry | None) -> bytes | None:
    if entry is None or entry.type != EntryType.BLOB or (entry.size or 0) > signs.MAX_MANIFEST_BYTES:
        return None
    try:
        return git.blob(repo, entry.sha)
    except ObjectNotFound:
        return None
