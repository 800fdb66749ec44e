"""From GitLab's JSON and headers to the port's values; makes no call."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from app.drivers.git.answers import parses
from app.drivers.git.port import Branch, CommitInfo, Person, Repository, TreeEntry
from app.drivers.git.pull_requests import PullRequest, PullRequestState

DEVELOPER = 30
"""GitLab's access level, the first that may push."""

_STATES = {"opened": PullRequestState.OPEN, "locked": PullRequestState.OPEN, "merged": PullRequestState.MERGED}


@dataclass(frozen=True)
class FileFacts:
    """What the files API tells of a path at a commit."""

    sha: str
    size: int
    last_commit: str
    executable: bool


@dataclass(frozen=True)
class Comparison:
    """The paths that differ; `complete` is False when GitLab gave up before it had them all."""

    present: frozenset[str]
    gone: frozenset[str]
    complete: bool


def moment(text: str) -> datetime:
    """A time as GitLab writes it (ISO 8601 with any offset), in UTC."""
    return datetime.fromisoformat(text).astimezone(UTC)


@parses
def repository(found: dict[str, Any]) -> Repository:
    """A project's own facts; an empty one has no default branch yet."""
    updated = found.get("last_activity_at")
    return Repository(
        id=str(found["id"]),
        full_name=found["path_with_namespace"],
        default_branch=found.get("default_branch") or "main",
        private=found.get("visibility") != "public",
        url=found.get("web_url"),
        updated_at=moment(updated) if updated else None,
        writable=_may_push(found.get("permissions")),
    )


def _may_push(permissions: Mapping[str, Any] | None) -> bool:
    """Whether the higher of the two roles, in the project and through its group, is developer or more."""
    if permissions is None:
        return True
    roles = (permissions.get(where) or {} for where in ("project_access", "group_access"))
    return max(int(role.get("access_level") or 0) for role in roles) >= DEVELOPER


@parses
def branch(found: dict[str, Any]) -> Branch:
    """A branch."""
    return Branch(found["name"], found["commit"]["id"], bool(found["default"]), bool(found["protected"]))


@parses
def entry(found: dict[str, Any]) -> TreeEntry:
    """A line of a tree; GitLab does not tell sizes there."""
    return TreeEntry(found["path"], found["type"], found["mode"].zfill(6), found["id"], None)


@parses
def file_facts(headers: Mapping[str, str]) -> FileFacts:
    """The headers of the files API."""
    return FileFacts(
        sha=headers["X-Gitlab-Blob-Id"],
        size=int(headers["X-Gitlab-Size"]),
        last_commit=headers["X-Gitlab-Last-Commit-Id"],
        executable=headers.get("X-Gitlab-Execute-Filemode") == "true",
    )


@parses
def commit(found: dict[str, Any], paths: tuple[str, ...] = ()) -> CommitInfo:
    """A commit of a list or on its own."""
    return CommitInfo(
        sha=found["id"],
        message=found["message"],
        author=Person(found["author_name"], found["author_email"]),
        date=moment(found["authored_date"]),
        parent=found["parent_ids"][0] if found["parent_ids"] else None,
        paths=paths,
    )


@parses
def parents(found: dict[str, Any]) -> list[str]:
    """All parents of a commit."""
    return [str(each) for each in found["parent_ids"]]


@parses
def comparison(found: dict[str, Any]) -> Comparison:
    """What differs between two commits."""
    diffs = found["diffs"]
    present = {diff["new_path"] for diff in diffs if not diff["deleted_file"]}
    gone = {diff["old_path"] for diff in diffs if diff["deleted_file"] or diff["renamed_file"]}
    return Comparison(frozenset(present), frozenset(gone - present), not found["compare_timeout"])


@parses
def sha(found: dict[str, Any]) -> str:
    """The name of a commit."""
    return str(found["id"])


@parses
def merge_request(found: dict[str, Any]) -> PullRequest:
    """A merge request."""
    return PullRequest(
        number=int(found["iid"]),
        title=found["title"],
        state=_STATES.get(found["state"], PullRequestState.CLOSED),
        head=found["source_branch"],
        base=found["target_branch"],
        url=found["web_url"],
    )
