"""Logs and comparisons of commits in the repositories on this machine."""

from collections.abc import Sequence

from app.core.paths import path_error
from app.core.refs import is_sha
from app.drivers.errors import UpstreamTimeout
from app.drivers.git.local.repositories import LocalRepositories
from app.drivers.git.local.revision_log import has_content, is_in_a_branch, read_differences, read_file_log, read_log
from app.drivers.git.port import EntryType, RepoRef
from app.drivers.git.revisions import CommitLogEntry, Differences, Revisions

MAX_SEARCH_S = 5.0
"""The longest search of a history for a version of a file."""


class LocalRevisions(LocalRepositories, Revisions):
    """Logs, comparisons and reachability of commits."""

    @property
    def follows_renames(self) -> bool:
        """Return True: `git log --follow` follows renames."""
        return True

    def log(self, repo: RepoRef, commit: str, *, path: str | None, skip: int, limit: int) -> Sequence[CommitLogEntry]:
        """Return commits up to `commit`, newest first, after the first `skip` of them."""
        folder = self._folder(repo)
        self._require_commits(folder, commit)
        if path is None:
            return read_log(folder, commit, skip=skip, limit=limit, timeout_s=self._timeout_s)
        return read_file_log(folder, commit, path, skip=skip, limit=limit, timeout_s=self._timeout_s)

    def compare(self, repo: RepoRef, base: str, head: str) -> Differences:
        """Compare two commits directly."""
        folder = self._folder(repo)
        self._require_commits(folder, base, head)
        return read_differences(folder, base, head, timeout_s=self._timeout_s)

    def is_reachable(self, repo: RepoRef, commit: str, *, branch: str) -> bool:
        """Return whether any branch contains a commit."""
        folder = self._folder(repo)
        if not self._are_commits(folder, commit):
            return False
        return self._find_head(folder, branch) == commit or is_in_a_branch(folder, commit, timeout_s=self._timeout_s)

    def has_version(self, repo: RepoRef, commit: str, path: str, blob: str) -> bool:
        """Return whether a file had a content at a commit or an earlier one."""
        folder = self._folder(repo)
        if path_error(path) or not is_sha(blob) or not self._are_commits(folder, commit):
            return False
        [header] = self._objects.check(folder, [blob])
        if header is None or header.type != EntryType.BLOB:
            return False
        try:
            return has_content(folder, commit, path, blob, timeout_s=min(self._timeout_s, MAX_SEARCH_S))
        except UpstreamTimeout:
            return False
