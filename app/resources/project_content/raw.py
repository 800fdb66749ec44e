"""A file's bytes as they are in Git."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from app.core.content.filetypes import BINARY, file_type
from app.core.errors import NotFound
from app.drivers.git.port import EntryType
from app.models.project_content import ContentIndex
from app.resources.project_content import reading
from app.resources.project_content.source import Source


@dataclass(frozen=True)
class RawFile:
    """The bytes of a blob, still to be read, with what their answer's headers need."""

    sha: str
    size: int | None
    mime: str
    source: Source

    def read(self) -> Iterator[bytes]:
        """The bytes, in pieces; the first is read at once, so that what fails, fails before an answer has begun."""
        pieces = self.source.git.open_blob(self.source.repo, self.sha)
        return chain([next(pieces, b"")], pieces)


def find(index: ContentIndex | None, path: str, source: Source) -> RawFile:
    """The file at the indexed commit of the branch. Raises NotFound."""
    file = reading.file(index, path)
    if file.type != EntryType.BLOB:
        raise NotFound("This is no file but another repository")
    return RawFile(file.sha, file.size, file_type(path).mime or BINARY, source)
