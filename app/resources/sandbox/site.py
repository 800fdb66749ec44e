"""Files of a commit for a sandbox, and their recipe."""

from collections.abc import Iterator, Mapping

import structlog

from app.content.detect import MAX_MANIFEST_BYTES
from app.core.limits import OutboundLimits
from app.drivers.errors import UpstreamRejected
from app.drivers.git.errors import TooLargeToRead
from app.drivers.git.port import EntryType
from app.drivers.sandbox.port import SiteFile
from app.resources.project_content.source import Source
from app.runtimes.choose import DetectionHints, choose_recipe
from app.runtimes.recipe import PreviewAddress, Recipe

log = structlog.get_logger(__name__)

MAX_FILES = 50_000


class Site:
    """Files of a commit, replaced by uncommitted files where they exist."""

    def __init__(self, source: Source, commit: str, extra: Mapping[str, bytes]) -> None:
        self._repository, self._extra = source.repository, extra
        entries = [entry for entry in self._repository.tree(commit) if entry.type == EntryType.BLOB]
        if len(entries) > MAX_FILES:
            raise UpstreamRejected(f"A preview can have at most {MAX_FILES:,} files")
        self._entries = {entry.path: entry for entry in entries}

    def recipe(self, address: PreviewAddress, hints: DetectionHints) -> Recipe:
        """Return the recipe of the files. Raises RuntimeNotDetected."""
        return choose_recipe([*self._entries, *self._extra], self._read, address, hints)

    def files(self) -> Iterator[SiteFile]:
        """Yield every file except those of more than 25 MiB, and of more than 10 MiB from a remote host."""
        for path, uncommitted in self._extra.items():
            yield SiteFile(path, "100644", uncommitted)
        entries = [entry for path, entry in self._entries.items() if path not in self._extra]
        blobs = self._repository.blobs([entry.sha for entry in entries], max_bytes=OutboundLimits.file_bytes)
        for entry, (_, content) in zip(entries, blobs, strict=True):
            if content is None:
                log.info("sandbox.file_skipped", path=entry.path, sha=entry.sha)
            else:
                yield SiteFile(entry.path, entry.mode, content)

    def _read(self, path: str) -> bytes | None:
        if path in self._extra:
            return self._extra[path]
        entry = self._entries.get(path)
        try:
            return None if entry is None else self._repository.blob(entry.sha, max_bytes=MAX_MANIFEST_BYTES)
        except TooLargeToRead:
            return None
