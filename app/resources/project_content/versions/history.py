"""The commits of a branch or of one file: their list, the last ones, and the one that removed or renamed a file."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import structlog

from app.core import clock
from app.core.cursors import decode_cursor, paginate
from app.core.errors import InvalidRequest, NotFound, UnprocessableEntity
from app.core.refs import is_sha
from app.drivers.errors import DriverError
from app.drivers.git.commit_message import co_authors_of
from app.drivers.git.port import CommitInfo, EntryType, Person
from app.drivers.git.revisions import CommitLogEntry, FileStatus
from app.resources.project_content import queries
from app.resources.project_content.source import Source, find_commit, revisions_of

log = structlog.get_logger(__name__)

MAX_RENAMES = 5
"""The number of successive renames that are followed."""
MAX_HISTORY_COMMITS = 1_000
"""Older commits of a longer push get no log entries. Their last-commit facts are read on demand."""
MAX_SKIPPED = 100_000
_CURSOR = "history"
LastCommits = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class FileRemoval:
    """The newest commit that removed a path, and the present path of the file if it was renamed.

    `commit` is None if no commit of the branch contains the path, for example after a force push.
    """

    commit: CommitInfo | None
    new_path: str | None = None


def find_removal(source: Source, path: str) -> FileRemoval:
    """Return the removal of a file that does not exist at the head of the branch. Calls the Git host."""
    head = source.repository.head(source.branch)
    commit, renamed_to = _last_change(source, head, path)
    new_path = renamed_to
    for _ in range(MAX_RENAMES):
        if new_path is None:
            break
        entry = source.repository.entries(head, [new_path]).get(new_path)
        if entry is not None:
            return FileRemoval(commit, new_path if entry.type == EntryType.BLOB else None)
        new_path = _last_change(source, head, new_path)[1]
    return FileRemoval(commit)


def _last_change(source: Source, head: str, path: str) -> tuple[CommitInfo | None, str | None]:
    """Return the newest commit that changed a path, and the path to which it renamed the file."""
    commit = last_change(source, path, head)
    if commit is None or commit.parent is None:
        return commit, None
    files = revisions_of(source).compare(commit.parent, commit.sha).files
    renames = (file for file in files if file.status == FileStatus.RENAMED and file.previous_path == path)
    return commit, next((file.path for file in renames), None)


def read_last_commits(source: Source, head: str) -> LastCommits:
    """Return the last commits of the files by path. An unreadable history does not prevent the index."""
    try:
        return last_commits(source.repository.history(head))
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


@dataclass(frozen=True)
class History:
    """A page of commits, newest first. `next_cursor` is None on the last page.

    `follows_renames` is False if the host ends the history of a file at its last rename.
    """

    entries: Sequence[CommitLogEntry]
    next_cursor: str | None
    follows_renames: bool


def read_history(
    source: Source, *, file: str | None = None, ref: str | None = None, cursor: str | None = None, limit: int = 50
) -> History:
    """Read the commits up to a branch or commit that changed a file, or all of them. Calls the Git host.

    The cursor names the first commit of the list, so new commits do not move its pages.

    Raises:
        NotFound: no branch contains the commit, or none of its commits has changed the file.
        InvalidRequest: the cursor is invalid.
    """
    revisions = revisions_of(source)
    start, skip = _position(source, cursor) if cursor else (find_commit(source, ref), 0)
    entries = revisions.log(start, path=file, skip=skip, limit=limit + 1)
    if file is not None and not entries and not skip:
        raise NotFound("No commit of this branch has changed this file")
    return History(*paginate(entries, limit, _CURSOR, lambda _: f"{start}:{skip + limit}"), revisions.follows_renames)


def last_change(source: Source, path: str, commit: str) -> CommitInfo | None:
    """Return the newest commit up to `commit` that changed a path, or None. Calls the Git host."""
    try:
        revisions = revisions_of(source)
    except UnprocessableEntity:
        return None
    entries = revisions.log(commit, path=path, skip=0, limit=1)
    return entries[0].commit if entries else None


def people_of(commit: CommitInfo) -> list[str]:
    """Return the names of the people who made a commit: co-authors if the service is the author, else the author."""
    return [person.name for person in co_authors_of(commit.message) or (commit.author,)]


def _position(source: Source, cursor: str) -> tuple[str, int]:
    start, _, skip = decode_cursor(cursor, _CURSOR).partition(":")
    if not is_sha(start) or not (skip.isascii() and skip.isdecimal() and len(skip) <= 6 and int(skip) <= MAX_SKIPPED):
        raise InvalidRequest.field("cursor", "The cursor does not belong to this list")
    return find_commit(source, start), int(skip)


def to_page(project_id: str, history: History) -> tuple[list[dict[str, object]], dict[str, object]]:
    """Return the commits as response dictionaries, and the metadata of the response. Runs one statement."""
    users = queries.users_of_commits(project_id, [entry.commit.sha for entry in history.entries])
    meta: dict[str, object] = {"next_cursor": history.next_cursor, "renames_followed": history.follows_renames}
    return [_entry_to_dict(entry, users) for entry in history.entries], meta


def _entry_to_dict(entry: CommitLogEntry, users: Mapping[str, str]) -> dict[str, object]:
    commit, path = entry
    return {
        "sha": commit.sha,
        "message": commit.message.rstrip("\n"),
        "author": _person(commit.author),
        "co_authors": [_person(person) for person in co_authors_of(commit.message)],
        "user_id": users.get(commit.sha),
        "date": clock.iso(commit.date),
        "path": path,
    }


def _person(person: Person) -> dict[str, str]:
    return {"name": person.name, "email": person.email}
