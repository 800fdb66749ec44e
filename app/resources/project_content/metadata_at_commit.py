"""Metadata of one file at a past commit, read from the Git host."""

from typing import Any

from app.core.errors import NotFound
from app.drivers.git.errors import GitObjectMissing
from app.resources.project_content import file_metadata
from app.resources.project_content.last_commits import commit_to_dict
from app.resources.project_content.raw_file import FOLDER
from app.resources.project_content.source import Source


def metadata_at_commit(source: Source, commit: str, path: str) -> dict[str, Any]:
    """Return the same metadata as for the file of a branch; `indexed_at` is None. Raises NotFound."""
    entry = source.git.entries(source.repo, commit, [path]).get(path)
    if entry is None or entry.type == FOLDER:
        raise NotFound("There is no such file at this commit")
    try:
        last = commit_to_dict(source.git.last_commit(source.repo, commit, path))
    except GitObjectMissing:
        last = None
    metadata = file_metadata.to_dict(entry, file_metadata.read_facts(entry, source))
    return metadata | {"commit_sha": commit, "last_commit": last, "indexed_at": None}
