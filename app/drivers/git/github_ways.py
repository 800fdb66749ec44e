"""The way from one commit of GitHub to a later one, as one call tells it; makes no call itself."""

from dataclasses import dataclass, field, replace
from typing import Any

from app.drivers.git import github_values as values
from app.drivers.git.answers import parses
from app.drivers.git.port import CommitInfo

MAX_FILES = 300  # GitHub “Compare two commits”: no more files are listed, all of them on the first page


@dataclass(frozen=True)
class Way:
    """The paths that differ, and the one commit between where there is just one."""

    ends: tuple[str, str]
    present: frozenset[str]
    gone: frozenset[str]
    only: CommitInfo | None = None


@dataclass
class Memory:
    """What is known of a repository for as long as one provider acts on it: blobs that are there, the latest way."""

    blobs: set[str] = field(default_factory=set)
    way: Way | None = None


@parses
def way(found: dict[str, Any], old: str, new: str) -> Way | None:
    """A comparison as a way; None where it is none (the branch went elsewhere), or not all of it is told."""
    files = found.get("files") or []
    if found["status"] not in ("ahead", "identical") or len(files) >= MAX_FILES:
        return None
    present = {file["filename"] for file in files if file["status"] != "removed"}
    made = Way((old, new), frozenset(present), frozenset(values.changed_paths(files) - present))
    if found["total_commits"] != 1 or values.parents(found["commits"][0]) != [old]:
        return made
    paths = sorted({*made.present, *made.gone}, key=str.encode)
    return replace(made, only=values.commit(found["commits"][0], tuple(paths)))
