"""Comparisons of two commits of GitHub."""

from dataclasses import dataclass, field, replace
from typing import Any

from app.drivers.git.github import values
from app.drivers.git.port import CommitInfo
from app.drivers.git.rest.responses import parses

MAX_FILES = 300  # GitHub "Compare two commits": maximum number of files, all on the first page


@dataclass(frozen=True)
class Comparison:
    """The changed paths, and the commit in between if there is only one."""

    ends: tuple[str, str]
    present: frozenset[str]
    removed: frozenset[str]
    only: CommitInfo | None = None


@dataclass
class RepositoryCache:
    """The cache of a repository for the lifetime of a provider: existing blobs and the latest comparison."""

    blobs: set[str] = field(default_factory=set)
    comparison: Comparison | None = None


@parses
def parse_comparison(data: dict[str, Any], old: str, new: str) -> Comparison | None:
    """Parse a comparison. Return None if the commits diverge or the response is incomplete."""
    files = data.get("files") or []
    if data["status"] not in ("ahead", "identical") or len(files) >= MAX_FILES:
        return None
    present = {file["filename"] for file in files if file["status"] != "removed"}
    comparison = Comparison((old, new), frozenset(present), frozenset(values.changed_paths(files) - present))
    if data["total_commits"] != 1 or values.parents(data["commits"][0]) != [old]:
        return comparison
    paths = sorted({*comparison.present, *comparison.removed}, key=str.encode)
    return replace(comparison, only=values.commit(data["commits"][0], tuple(paths)))
