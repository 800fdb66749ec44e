"""Tests of the files that a sandbox receives from a commit."""

from collections.abc import Iterable, Iterator

from app.drivers.git.port import EntryType, Repository, TreeEntry
from app.resources.project_content.source import Source
from app.resources.sandbox.site import Site

PAGE, VIDEO = "a" * 40, "b" * 40


class LargeBlob(Repository):
    """Repository with a page and a video that is too large for a batch read."""

    def tree(self, commit: str) -> Iterator[TreeEntry]:
        for path, sha in (("index.html", PAGE), ("video.mp4", VIDEO)):
            yield TreeEntry(path, EntryType.BLOB, "100644", sha, None)

    def blobs(self, shas: Iterable[str], *, max_bytes: int) -> Iterator[tuple[str, bytes | None]]:
        for sha in shas:
            yield sha, b"<h1>Page</h1>" if sha == PAGE else None


class TestSite:
    def test_files_above_the_size_limit_are_omitted(self) -> None:
        site = Site.at(Source(LargeBlob(), "main"), "c" * 40, {"typed.html": b"typed"})
        assert {file.path: file.content for file in site.files()} == {
            "typed.html": b"typed",
            "index.html": b"<h1>Page</h1>",
        }
