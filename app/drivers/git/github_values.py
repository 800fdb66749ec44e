"""From GitHub's JSON to the port's values; makes no call."""

from datetime import datetime
from typing import Any

from app.drivers.git.answers import parses
from app.drivers.git.port import Branch, CommitInfo, Person, Repository, TreeEntry
from app.drivers.git.pull_requests import PullRequest, PullRequestState


def moment(text: str) -> datetime:
    """A time as GitHub writes it (ISO 8601 with `Z`)."""
    return datetime.fromisoformat(text)


@parses
def repository(found: dict[str, Any]) -> Repository:
    """A repository's own facts."""
    updated = found.get("pushed_at") or found.get("updated_at")
    return Repository(
        id=str(found["id"]),
        full_name=found["full_name"],
        default_branch=found["default_branch"],
        private=bool(found["private"]),
        url=found.get("html_url"),
        updated_at=moment(updated) if updated else None,
        writable=bool((found.get("permissions") or {}).get("push", True)),
    )


@parses
def branch(found: dict[str, Any], default: str) -> Branch:
    """A branch of a list."""
    return Branch(found["name"], found["commit"]["sha"], found["name"] == default, bool(found["protected"]))


@parses
def head_sha(found: dict[str, Any]) -> str:
    """The commit a reference is at."""
    return str(found["object"]["sha"])


@parses
def sha(found: dict[str, Any]) -> str:
    """The name of an object that was made."""
    return str(found["sha"])


@parses
def tree_of(found: dict[str, Any]) -> str:
    """The tree of a commit object."""
    return str(found["tree"]["sha"])


@parses
def reaches(found: dict[str, Any]) -> bool:
    """Whether a comparison's head has all of its base."""
    return found["status"] in ("ahead", "identical")


@parses
def entries(found: dict[str, Any], prefix: str = "") -> tuple[list[TreeEntry], bool]:
    """What a tree holds, folders among it, with `prefix` before each path; and whether it was cut short."""
    listed = [
        TreeEntry(prefix + each["path"], each["type"], each["mode"].zfill(6), each["sha"], each.get("size"))
        for each in found["tree"]
    ]
    return listed, bool(found["truncated"])


@parses
def commit(found: dict[str, Any], paths: tuple[str, ...] = ()) -> CommitInfo:
    """A commit of the list, the comparison or on its own."""
    told, author = found["commit"], found["commit"]["author"]
    return CommitInfo(
        sha=found["sha"],
        message=told["message"],
        author=Person(author["name"], author["email"]),
        date=moment(author["date"]),
        parent=found["parents"][0]["sha"] if found["parents"] else None,
        paths=paths,
    )


@parses
def parents(found: dict[str, Any]) -> list[str]:
    """All parents of a commit."""
    return [str(each["sha"]) for each in found["parents"]]


@parses
def changed_paths(files: list[dict[str, Any]]) -> set[str]:
    """The paths in a commit's list of files; a rename is both its paths."""
    return {file["filename"] for file in files} | {
        file["previous_filename"] for file in files if file["status"] == "renamed"
    }


@parses
def pull_request(found: dict[str, Any]) -> PullRequest:
    """A pull request of the list or on its own."""
    merged = bool(found.get("merged_at"))
    return PullRequest(
        number=int(found["number"]),
        title=found["title"],
        state=PullRequestState.MERGED if merged else PullRequestState(found["state"]),
        head=found["head"]["ref"],
        base=found["base"]["ref"],
        url=found["html_url"],
    )
