"""Search for the commit of an interrupted attempt of a save."""

import hashlib
from collections.abc import Iterator
from itertools import islice

from app.drivers.git.commit_message import create_git_commit_message
from app.drivers.git.port import Action, Commit, CommitInfo, PathChange, TreeEntry
from app.resources.project_content.commit_builder import SaveRequest
from app.resources.project_content.source import Source

MAX_COMMITS = 5_000
"""A local branch can receive 80 commits per second, and a retry waits up to 20 s for the lease of the first attempt."""


def find_earlier_commit(source: Source, save: SaveRequest) -> Commit | None:
    """Return the commit that an interrupted attempt of the same save made, or None.

    It is one of the newest commits after `base_sha`, has the same message, and leaves the same blobs at every path. The
    save would conflict with any such commit, so a match cannot hide work of another person.
    """
    message = create_git_commit_message(save.message, save.trailers, save.description)
    head = source.git.head(source.repo, source.branch)
    if head == save.base_sha or not source.git.is_ancestor(source.repo, save.base_sha, head):
        return None
    for info in islice(source.git.history(source.repo, head, since=save.base_sha), MAX_COMMITS):
        if info.message.strip() == message.strip() and info.parent is not None:
            changes = _matching_changes(source, save, info)
            if changes is not None:
                return Commit(info.sha, info.parent, changes, _url(source, info.sha))
    return None


def _matching_changes(source: Source, save: SaveRequest, info: CommitInfo) -> tuple[PathChange, ...] | None:
    """Return the changed paths with their entries in the commit, or None if one has other content."""
    paths = sorted({path for edit in save.edits for path in edit.paths})
    before = source.git.entries(source.repo, str(info.parent), paths)
    after = source.git.entries(source.repo, info.sha, paths)
    expected = dict(_expected_blobs(save, before))
    if any((after[path].sha if path in after else None) != expected.get(path) for path in paths):
        return None
    return tuple(PathChange(path, after.get(path)) for path in paths)


def _expected_blobs(save: SaveRequest, before: dict[str, TreeEntry]) -> Iterator[tuple[str, str]]:
    """Yield each path that exists after the save, with its blob sha."""
    for change in (edit.change for edit in save.edits):
        origin = before.get(change.previous_path or "")
        if change.content is not None:
            yield change.path, _blob_sha(change.content)
        elif change.action == Action.MOVE and origin is not None:
            yield change.path, origin.sha


def _blob_sha(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _url(source: Source, sha: str) -> str | None:
    url = source.git.repository(source.repo).url
    return f"{url}/commit/{sha}" if url else None
