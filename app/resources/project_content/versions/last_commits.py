"""The last commits of files from the history of a branch."""

from collections.abc import Iterable, Mapping
from itertools import islice

import structlog

from app.core import clock
from app.drivers.errors import DriverError
from app.drivers.git.port import CommitInfo
from app.resources.project_content.source import Source

MAX_HISTORY_COMMITS = 1_000
"""Older commits of a longer push get no log entries. Their last-commit facts are read on demand."""

LastCommits = Mapping[str, Mapping[str, str]]

log = structlog.get_logger(__name__)


def read_last_commits(source: Source, head: str) -> LastCommits:
    """Return the last commits of the files by path. An unreadable history does not prevent the index."""
    try:
        return last_commits(source.git.history(source.repo, head))
    except DriverError as error:
        log.warning("content.history_unreadable", error=type(error).__name__)
        return {}


def last_commits(history: Iterable[CommitInfo]) -> LastCommits:
    """Return the newest commit of each path of a history, which is ordered from new to old."""
    newest: dict[str, dict[str, str]] = {}
    for commit in islice(history, MAX_HISTORY_COMMITS):
        values = commit_to_dict(commit)
        for path in commit.paths:
            newest.setdefault(path, values)
    return newest


def commit_to_dict(commit: CommitInfo) -> dict[str, str]:
    """Return a commit as a response dictionary of file metadata."""
    return {
        "sha": commit.sha,
        "message": commit.message,
        "author": commit.author.name,
        "date": clock.iso(commit.date),
    }
