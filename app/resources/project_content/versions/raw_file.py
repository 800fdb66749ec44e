"""The bytes of a file as stored in Git."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from urllib.parse import urlencode

from app.content.filetypes import BINARY, file_type
from app.core.errors import NotFound
from app.database import transactions
from app.drivers.git.port import EntryType
from app.models.project_content import ContentIndex
from app.resources.project_content import queries
from app.resources.project_content.source import Source

FOLDER = "tree"
SUBMODULE = "This path is a submodule, not a file"


@dataclass(frozen=True)
class RawFile:
    """An unread blob with the values for the headers of its response."""

    sha: str
    size: int | None
    mime: str
    source: Source

    def read(self) -> Iterator[bytes]:
        """Return the bytes in pieces. The first one is read at once, so that an error precedes the response."""
        with transactions.outside_transaction():
            pieces = self.source.git.open_blob(self.source.repo, self.sha)
            return chain([next(pieces, b"")], pieces)


def raw_url(project_id: str, path: str, ref: str) -> str:
    """Return the URL of the bytes of a file at a branch or commit, below the origin of the API."""
    return f"/api/v1/project-content/{project_id}/raw?{urlencode({'file': path, 'ref': ref})}"


def find_at_commit(source: Source, commit: str, path: str) -> RawFile:
    """Return the file at a commit. Reads the entry from the Git host. Raises NotFound."""
    entry = source.git.entries(source.repo, commit, [path]).get(path)
    if entry is None or entry.type == FOLDER:
        raise NotFound("There is no such file at this commit")
    if entry.type != EntryType.BLOB:
        raise NotFound(SUBMODULE)
    return RawFile(entry.sha, entry.size, file_type(path).mime or BINARY, source)


def find(index: ContentIndex | None, path: str, source: Source) -> RawFile:
    """Return the file at the indexed commit of the branch. Raises NotFound."""
    file = queries.file(index, path)
    if file.type != EntryType.BLOB:
        raise NotFound(SUBMODULE)
    return RawFile(file.sha, file.size, file_type(path).mime or BINARY, source)
