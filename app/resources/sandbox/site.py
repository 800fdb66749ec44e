"""Files of a commit for a sandbox, and their recipe."""

from collections.abc import Iterator, Mapping

import structlog

from app.content.detect import MAX_MANIFEST_BYTES
from app.content.filetypes import file_type
from app.core.limits import MIB, OutboundLimits
from app.drivers.errors import UpstreamRejected
from app.drivers.git.errors import TooLargeToRead
from app.drivers.git.port import EntryType, Repository, TreeEntry
from app.drivers.sandbox.port import EXECUTABLE, SiteFile
from app.resources.project_content.source import Source
from app.runtimes.choose import DetectionHints, choose_recipe
from app.runtimes.recipe import PreviewAddress, Recipe

log = structlog.get_logger(__name__)

MAX_FILES = 50_000
MAX_TEXT_BYTES, MAX_TEXTS_BYTES = MIB, 64 * MIB
"""The size of a file that is read for marks, and of all together."""

REGULAR = "100644"


class Site:
    """Files of a commit, replaced by uncommitted files where they exist."""

    def __init__(
        self, repository: Repository, entries: Mapping[str, TreeEntry], replacements: Mapping[str, bytes]
    ) -> None:
        self._repository, self._entries, self._extra = repository, entries, dict(replacements)

    @classmethod
    def at(cls, source: Source, commit: str, extra: Mapping[str, bytes]) -> "Site":
        """Return the site of a commit. Raises UpstreamRejected with too many files."""
        entries = [entry for entry in source.repository.tree(commit) if entry.type == EntryType.BLOB]
        if len(entries) > MAX_FILES:
            raise UpstreamRejected(f"A preview can have at most {MAX_FILES:,} files")
        return cls(source.repository, {entry.path: entry for entry in entries}, extra)

    def recipe(self, address: PreviewAddress, hints: DetectionHints) -> Recipe:
        """Return the recipe of the files. Raises RuntimeNotDetected."""
        return choose_recipe([*self._entries, *self._extra], self._read, address, hints)

    def files(self) -> Iterator[SiteFile]:
        """Yield every file except those of more than 25 MiB, and of more than 10 MiB from a remote host."""
        for path, uncommitted in self._extra.items():
            is_program = path in self._entries and self._entries[path].mode == EXECUTABLE
            yield SiteFile(path, EXECUTABLE if is_program else REGULAR, uncommitted)
        entries = [entry for path, entry in self._entries.items() if path not in self._extra]
        blobs = self._repository.blobs([entry.sha for entry in entries], max_bytes=OutboundLimits.file_bytes)
        for entry, (_, content) in zip(entries, blobs, strict=True):
            if content is None:
                log.info("sandbox.file_skipped", path=entry.path, sha=entry.sha)
            else:
                yield SiteFile(entry.path, entry.mode, content)

    def small_texts(self) -> dict[str, bytes]:
        """Return the files of at most 1 MB that are no pictures or archives, up to 64 MiB, by path.

        Files of unknown size are left out.
        """
        free, entries = MAX_TEXTS_BYTES, list[TreeEntry]()
        for path, entry in self._entries.items():
            size = entry.size if entry.mode in (REGULAR, EXECUTABLE) else None
            if path not in self._extra and size is not None and size <= min(MAX_TEXT_BYTES, free) and _is_text(path):
                free -= size
                entries.append(entry)
        blobs = self._repository.blobs([entry.sha for entry in entries], max_bytes=MAX_TEXT_BYTES)
        texts = {entry.path: data for entry, (_, data) in zip(entries, blobs, strict=True) if data is not None}
        return texts | self._extra

    def replaced(self, texts: Mapping[str, bytes]) -> "Site":
        """Return the site with other contents of some files. Their modes do not change."""
        return Site(self._repository, self._entries, self._extra | dict(texts))

    def _read(self, path: str) -> bytes | None:
        if path in self._extra:
            return self._extra[path]
        entry = self._entries.get(path)
        try:
            return None if entry is None else self._repository.blob(entry.sha, max_bytes=MAX_MANIFEST_BYTES)
        except TooLargeToRead:
            return None


def _is_text(path: str) -> bool:
    return file_type(path).language is not None
