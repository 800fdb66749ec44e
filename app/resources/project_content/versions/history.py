"""The commits of a branch or of one file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.core import clock
from app.core.cursors import decode_cursor, encode_cursor
from app.core.errors import InvalidRequest, NotFound, UnprocessableEntity
from app.core.refs import is_sha
from app.drivers.git.commit_message import co_authors_of
from app.drivers.git.port import CommitInfo, Person
from app.drivers.git.revisions import CommitLogEntry
from app.resources.project_content import queries
from app.resources.project_content.source import Source
from app.resources.project_content.versions.commit_refs import find_commit, revisions_of

MAX_SKIPPED = 100_000
_CURSOR = "history"


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
    entries = revisions.log(source.repo, start, path=file, skip=skip, limit=limit + 1)
    if file is not None and not entries and not skip:
        raise NotFound("No commit of this branch has changed this file")
    following = encode_cursor(_CURSOR, f"{start}:{skip + limit}") if len(entries) > limit else None
    return History(entries[:limit], following, revisions.follows_renames)


def last_change(source: Source, path: str, commit: str) -> CommitInfo | None:
    """Return the newest commit up to `commit` that changed a path, or None. Calls the Git host."""
    try:
        revisions = revisions_of(source)
    except UnprocessableEntity:
        return None
    entries = revisions.log(source.repo, commit, path=path, skip=0, limit=1)
    return entries[0].commit if entries else None


def people_of(commit: CommitInfo) -> list[str]:
    """Return the names of the people who made a commit: its co-authors if the service is the author, else its author."""
    return [person.name for person in co_authors_of(commit.message) or (commit.author,)]


def _position(source: Source, cursor: str) -> tuple[str, int]:
    start, _, skip = decode_cursor(cursor, _CURSOR).partition(":")
    if not is_sha(start) or not (skip.isascii() and skip.isdecimal() and len(skip) <= 6 and int(skip) <= MAX_SKIPPED):
        raise InvalidRequest.field("cursor", "The cursor does not belong to this list")
    return find_commit(source, start), int(skip)


def to_page(project_id: str, history: History) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the commits as response dictionaries, and the metadata of the response. Runs one statement."""
    users = queries.users_of_commits(project_id, [entry.commit.sha for entry in history.entries])
    meta = {"next_cursor": history.next_cursor, "renames_followed": history.follows_renames}
    return [_entry_to_dict(entry, users) for entry in history.entries], meta


def _entry_to_dict(entry: CommitLogEntry, users: Mapping[str, str]) -> dict[str, Any]:
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
