"""Conversion of GitLab's JSON and headers to the values of the port."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from app.drivers.git.port import Branch, CommitInfo, Person, PullRequest, PullRequestState, Repository, TreeEntry
from app.drivers.git.rest.responses import parses

DEVELOPER = 30
"""GitLab's lowest access level that may push."""

_STATES = {"opened": PullRequestState.OPEN, "locked": PullRequestState.OPEN, "merged": PullRequestState.MERGED}


@dataclass(frozen=True)
class RemoteFile:
    """The metadata of a file at a commit."""

    sha: str
    size: int
    last_commit: str
    executable: bool


@dataclass(frozen=True)
class GitLabComparison:
    """The changed paths. `complete` is False if GitLab gave up before it had all of them."""

    present: frozenset[str]
    removed: frozenset[str]
    complete: bool


def moment(text: str) -> datetime:
    """Parse a time of GitLab (ISO 8601 with any offset). Return it in UTC."""
    return datetime.fromisoformat(text).astimezone(UTC)


@parses
def repository(data: dict[str, Any]) -> Repository:
    """Parse a project. An empty project has no default branch."""
    updated = data.get("last_activity_at")
    return Repository(
        id=str(data["id"]),
        full_name=data["path_with_namespace"],
        default_branch=data.get("default_branch") or "main",
        private=data.get("visibility") != "public",
        url=data.get("web_url"),
        updated_at=moment(updated) if updated else None,
        writable=_may_push(data.get("permissions")),
    )


def _may_push(permissions: Mapping[str, Any] | None) -> bool:
    """Return whether the higher role of project and group is at least developer."""
    if permissions is None:
        return True
    roles = (permissions.get(where) or {} for where in ("project_access", "group_access"))
    return max(int(role.get("access_level") or 0) for role in roles) >= DEVELOPER


@parses
def branch(data: dict[str, Any]) -> Branch:
    """Parse a branch."""
    return Branch(data["name"], data["commit"]["id"], bool(data["default"]), bool(data["protected"]))


@parses
def entry(data: dict[str, Any]) -> TreeEntry:
    """Parse an entry of a tree. GitLab does not report sizes there."""
    return TreeEntry(data["path"], data["type"], data["mode"].zfill(6), data["id"], None)


@parses
def file_facts(headers: Mapping[str, str]) -> RemoteFile:
    """Parse the headers of the files API."""
    return RemoteFile(
        sha=headers["X-Gitlab-Blob-Id"],
        size=int(headers["X-Gitlab-Size"]),
        last_commit=headers["X-Gitlab-Last-Commit-Id"],
        executable=headers.get("X-Gitlab-Execute-Filemode") == "true",
    )


@parses
def commit(data: dict[str, Any], paths: tuple[str, ...] = ()) -> CommitInfo:
    """Parse a commit."""
    return CommitInfo(
        sha=data["id"],
        message=data["message"],
        author=Person(data["author_name"], data["author_email"]),
        date=moment(data["authored_date"]),
        parent=data["parent_ids"][0] if data["parent_ids"] else None,
        paths=paths,
    )


@parses
def parents(data: dict[str, Any]) -> list[str]:
    """Return all parents of a commit."""
    return [str(each) for each in data["parent_ids"]]


@parses
def comparison(data: dict[str, Any]) -> GitLabComparison:
    """Parse a comparison of two commits."""
    diffs = data["diffs"]
    present = {diff["new_path"] for diff in diffs if not diff["deleted_file"]}
    removed = {diff["old_path"] for diff in diffs if diff["deleted_file"] or diff["renamed_file"]}
    return GitLabComparison(frozenset(present), frozenset(removed - present), not data["compare_timeout"])


@parses
def sha(data: dict[str, object]) -> str:
    """Return the sha of a commit."""
    return str(data["id"])


@parses
def merge_request(data: dict[str, Any]) -> PullRequest:
    """Parse a merge request."""
    return PullRequest(
        number=int(data["iid"]),
        title=data["title"],
        state=_STATES.get(data["state"], PullRequestState.CLOSED),
        head=data["source_branch"],
        base=data["target_branch"],
        url=data["web_url"],
    )
