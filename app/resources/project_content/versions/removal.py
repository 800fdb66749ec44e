"""The commit that removed or renamed a file of a branch."""

from dataclasses import dataclass

from app.drivers.git.port import CommitInfo, EntryType
from app.drivers.git.revisions import FileStatus
from app.resources.project_content.source import Source
from app.resources.project_content.versions.commit_refs import revisions_of
from app.resources.project_content.versions.history import last_change

MAX_RENAMES = 5
"""The number of successive renames that are followed."""


@dataclass(frozen=True)
class FileRemoval:
    """The newest commit that removed a path, and the present path of the file if it was renamed.

    `commit` is None if no commit of the branch contains the path, for example after a force push.
    """

    commit: CommitInfo | None
    new_path: str | None = None


def find_removal(source: Source, path: str) -> FileRemoval:
    """Return the removal of a file that does not exist at the head of the branch. Calls the Git host."""
    head = source.git.head(source.repo, source.branch)
    commit, renamed_to = _last_change(source, head, path)
    new_path = renamed_to
    for _ in range(MAX_RENAMES):
        if new_path is None:
            break
        entry = source.git.entries(source.repo, head, [new_path]).get(new_path)
        if entry is not None:
            return FileRemoval(commit, new_path if entry.type == EntryType.BLOB else None)
        new_path = _last_change(source, head, new_path)[1]
    return FileRemoval(commit)


def _last_change(source: Source, head: str, path: str) -> tuple[CommitInfo | None, str | None]:
    """Return the newest commit that changed a path, and the path to which it renamed the file."""
    commit = last_change(source, path, head)
    if commit is None or commit.parent is None:
        return commit, None
    files = revisions_of(source).compare(source.repo, commit.parent, commit.sha).files
    renames = (file for file in files if file.status == FileStatus.RENAMED and file.previous_path == path)
    return commit, next((file.path for file in renames), None)
