"""Conversion of GitHub's JSON to the values of the port."""

from datetime import datetime
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
from app.drivers.git.rest.responses import parses

_STATUS_STATES = {"success": CheckState.PASSED, "pending": CheckState.PENDING}


def moment(text: str) -> datetime:
    """Parse a time of GitHub (ISO 8601 with `Z`)."""
    return datetime.fromisoformat(text)


@parses
def repository(data: dict[str, Any]) -> RepositoryFacts:
    """Parse a repository."""
    updated = data.get("pushed_at") or data.get("updated_at")
    return RepositoryFacts(
        id=str(data["id"]),
        full_name=data["full_name"],
        default_branch=data["default_branch"],
        private=bool(data["private"]),
        url=data.get("html_url"),
        updated_at=moment(updated) if updated else None,
        writable=bool((data.get("permissions") or {}).get("push", True)),
    )


@parses
def branch(data: dict[str, Any], default: str) -> Branch:
    """Parse a branch of a list."""
    return Branch(data["name"], data["commit"]["sha"], data["name"] == default, bool(data["protected"]))


@parses
def head_sha(data: dict[str, Any]) -> str:
    """Return the commit of a reference."""
    return str(data["object"]["sha"])


@parses
def sha(data: dict[str, object]) -> str:
    """Return the sha of a created object."""
    return str(data["sha"])


@parses
def tree_of(data: dict[str, Any]) -> str:
    """Return the tree of a commit object."""
    return str(data["tree"]["sha"])


@parses
def reaches(data: dict[str, object]) -> bool:
    """Return whether the head of a comparison contains its base."""
    return data["status"] in ("ahead", "identical")


@parses
def merge_base(data: dict[str, Any]) -> str:
    """Return the common ancestor of the commits of a comparison."""
    return str(data["merge_base_commit"]["sha"])


@parses
def entries(data: dict[str, Any], prefix: str = "") -> tuple[list[TreeEntry], bool]:
    """Return the entries of a tree with `prefix` before each path, and whether the host truncated them."""
    listed = [
        TreeEntry(prefix + entry["path"], entry["type"], entry["mode"].zfill(6), entry["sha"], entry.get("size"))
        for entry in data["tree"]
    ]
    return listed, bool(data["truncated"])


@parses
def commit(data: dict[str, Any], paths: tuple[str, ...] = ()) -> CommitInfo:
    """Parse a commit of a list, of a comparison or a single one."""
    details, author = data["commit"], data["commit"]["author"]
    return CommitInfo(
        sha=data["sha"],
        message=details["message"][:MAX_MESSAGE],
        author=Person(author["name"], author["email"]),
        date=moment(author["date"]),
        parent=data["parents"][0]["sha"] if data["parents"] else None,
        paths=paths,
    )


@parses
def parents(data: dict[str, Any]) -> list[str]:
    """Return all parents of a commit."""
    return [str(parent["sha"]) for parent in data["parents"]]


@parses
def changed_paths(files: list[dict[str, Any]]) -> set[str]:
    """Return the paths in the file list of a commit. A rename counts as both paths."""
    return {file["filename"] for file in files} | {
        file["previous_filename"] for file in files if file["status"] == "renamed"
    }


@parses
def pull_request(data: dict[str, Any]) -> PullRequest:
    """Parse a pull request."""
    merged = bool(data.get("merged_at"))
    return PullRequest(
        number=int(data["number"]),
        title=data["title"],
        state=PullRequestState.MERGED if merged else PullRequestState(data["state"]),
        head=data["head"]["ref"],
        base=data["base"]["ref"],
        url=data["html_url"],
        head_sha=data["head"]["sha"],
        merge_sha=data["merge_commit_sha"] if merged else None,  # otherwise that of a trial merge
    )


@parses
def check_run(data: dict[str, Any]) -> tuple[str, CheckState]:
    """Return the name and the state of a check run."""
    if data["status"] != "completed":
        return data["name"], CheckState.PENDING
    passed = data["conclusion"] in ("success", "neutral", "skipped")
    return data["name"], CheckState.PASSED if passed else CheckState.FAILED


@parses
def commit_status(data: dict[str, Any]) -> tuple[str, CheckState]:
    """Return the name and the state of a commit status."""
    return data["context"], _STATUS_STATES.get(data["state"], CheckState.FAILED)
