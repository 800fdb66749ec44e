"""Conversion of GitLab's JSON and headers to the values of the port."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from app.drivers.git.port import (
    MAX_MESSAGE,
    Branch,
    CheckState,
    CommitInfo,
    Person,
    PullRequest,
    PullRequestState,
    RepositoryFacts,
    TreeEntry,
)
from app.drivers.git.rest.responses import parses, quotable

DEVELOPER = 30
"""GitLab's lowest access level that may push."""

_PIPELINE_STATES = {
    "success": CheckState.PASSED,
    "failed": CheckState.FAILED,
    "canceled": CheckState.FAILED,
}
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


@dataclass(frozen=True)
class Pipeline:
    """The state of a pipeline and the commit on which it runs, which may be a trial merge."""

    sha: str
    state: CheckState


def moment(text: str) -> datetime:
    """Parse a time of GitLab (ISO 8601 with any offset). Return it in UTC."""
    return datetime.fromisoformat(text).astimezone(UTC)


@parses
def repository(data: dict[str, Any]) -> RepositoryFacts:
    """Parse a project. An empty project has no default branch."""
    updated = data.get("last_activity_at")
    return RepositoryFacts(
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
        message=data["message"][:MAX_MESSAGE],
        author=Person(data["author_name"], data["author_email"]),
        date=moment(data["authored_date"]),
        parent=data["parent_ids"][0] if data["parent_ids"] else None,
        paths=paths,
    )


@parses
def parents(data: dict[str, Any]) -> list[str]:
    """Return all parents of a commit."""
    return [str(parent) for parent in data["parent_ids"]]


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
    """Parse a merge request. It was merged by a merge commit, a squash commit, or its head (fast-forward)."""
    state = _STATES.get(data["state"], PullRequestState.CLOSED)
    merge_sha = data.get("merge_commit_sha") or data.get("squash_commit_sha") or data["sha"]
    return PullRequest(
        number=int(data["iid"]),
        title=data["title"],
        state=state,
        head=data["source_branch"],
        base=data["target_branch"],
        url=data["web_url"],
        head_sha=data["sha"] or "",
        merge_sha=merge_sha if state is PullRequestState.MERGED else None,
    )


@parses
def may_merge(data: dict[str, Any]) -> bool:
    """Return whether the account may merge into the branch of a merge request. Old versions do not report it."""
    return (data.get("user") or {}).get("can_merge") is not False


@parses
def is_unprepared(data: dict[str, Any]) -> bool:
    """Return whether GitLab still processes the commits of a merge request."""
    return data.get("detailed_merge_status") in ("preparing", "checking")


@parses
def merge_error(data: dict[str, Any]) -> str:
    """Return the message of a merge that failed on the server."""
    return quotable(str(data.get("merge_error") or "no reason was given"))


@parses
def head_pipeline(data: dict[str, Any]) -> Pipeline | None:
    """Return the pipeline of the head of a merge request. A skipped pipeline has no result."""
    pipeline = data.get("head_pipeline")
    if pipeline is None or pipeline["status"] == "skipped":
        return None
    return Pipeline(pipeline["sha"], _PIPELINE_STATES.get(pipeline["status"], CheckState.PENDING))


@parses
def failed_job(data: dict[str, Any]) -> str | None:
    """Return the name of a job that failed and was not allowed to, or None."""
    failed = data["status"] in ("failed", "canceled") and not data.get("allow_failure")
    return str(data["name"]) if failed else None
