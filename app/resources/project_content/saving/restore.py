"""Restore of a file or folder as it was at a past commit, as an ordinary commit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.core.errors import NotFound, PayloadTooLarge, UnprocessableEntity
from app.core.limits import MIB, CommitLimits
from app.drivers.git.commit_plan import SYMLINK, is_executable
from app.drivers.git.errors import TooLargeToRead
from app.drivers.git.port import Action, EntryType, FileChange, TreeEntry
from app.drivers.git.revisions import FileStatus
from app.resources.project_content.save_request import FileEdit
from app.resources.project_content.saving.commit_builder import NoChange, require_base, require_unchanged
from app.resources.project_content.source import Source, find_commit, revisions_of
from app.resources.project_content.versions.file_metadata import FOLDER

MAX_COMMITS = 5_000
"""The number of commits of a file that are searched for its earlier paths."""
NO_FILE = "There is no such file at this commit"
TOO_LARGE = f"A commit can contain at most {CommitLimits.bytes // MIB} MiB"


@dataclass(frozen=True)
class RestoreRequest:
    """The path to restore, the commit that has the earlier version, and the commit from which the caller started."""

    path: str
    is_folder: bool
    commit_sha: str
    base_sha: str


class RestoreNotPossible(UnprocessableEntity):
    """A version that a save cannot write: a symbolic link or a submodule (422)."""

    code = "CANNOT_RESTORE"


def plan_restore(source: Source, request: RestoreRequest) -> Sequence[FileEdit] | NoChange:
    """Return the edits that restore the path, or NoChange if it is equal. Calls the Git host.

    A file that had another path at the commit is restored from the path that its history names. On a host whose
    history ends at a rename, the comparison of the two commits names it. The restored file is written to `path`.

    Raises:
        NotFound: no branch contains the commit, or the commit does not contain the path.
        RestoreNotPossible: a version is a symbolic link or a submodule.
        PayloadTooLarge: there are more files or bytes than one commit takes.
        SaveConflict: the branch does not contain the base.
    """
    commit = find_commit(source, request.commit_sha)
    require_base(source, request.base_sha, [request.path])
    versions = _folder_versions(source, commit, request) if request.is_folder else _file(source, commit, request)
    present = source.repository.entries(request.base_sha, sorted(versions))
    edits = list(edits_between(source, versions, present))
    if edits:
        return edits
    head = require_unchanged(source, request.base_sha, request.path, is_folder=request.is_folder)
    return NoChange(source.branch, head)


def _file(source: Source, commit: str, request: RestoreRequest) -> dict[str, TreeEntry | None]:
    present = source.repository.entries(request.base_sha, [request.path]).get(request.path)
    if present is not None and present.type == FOLDER:
        raise NotFound(NO_FILE)
    paths = list(_paths_at(source, commit, request))
    entries = source.repository.entries(commit, paths)
    entry = next((entries[path] for path in paths if path in entries and entries[path].type != FOLDER), None)
    if entry is None:
        raise NotFound(NO_FILE)
    return {request.path: entry}


def _paths_at(source: Source, commit: str, request: RestoreRequest) -> Iterator[str]:
    """Yield the paths that the file can have at the commit, the likeliest first."""
    revisions = revisions_of(source)
    if not revisions.follows_renames:
        yield request.path
        for file in revisions.compare(commit, request.base_sha).files:
            if file.status == FileStatus.RENAMED and file.path == request.path and file.previous_path:
                yield file.previous_path
        return
    log = revisions.log(request.base_sha, path=request.path, skip=0, limit=MAX_COMMITS)
    # The file of the same name at this commit may be another one.
    yield from (entry.path for entry in log if entry.commit.sha == commit and entry.path)
    yield request.path
    yield from dict.fromkeys(entry.path for entry in log if entry.path)


def _folder_versions(source: Source, commit: str, request: RestoreRequest) -> dict[str, TreeEntry | None]:
    """Return the entries of the changed paths of a folder at the commit. None is a path to delete."""
    entry = source.repository.entries(commit, [request.path]).get(request.path)
    if entry is None or entry.type != FOLDER:
        raise NotFound("There is no such folder at this commit")
    changes = source.repository.changes(request.base_sha, commit)
    versions = {change.path: change.entry for change in changes if change.path.startswith(f"{request.path}/")}
    if len(versions) > CommitLimits.files:
        raise PayloadTooLarge(f"A commit can contain at most {CommitLimits.files} files")
    return versions


def edits_between(
    source: Source,
    versions: Mapping[str, TreeEntry | None],
    present: Mapping[str, TreeEntry],
    *,
    reads_new_files: bool = True,
) -> Iterator[FileEdit]:
    """Yield the edits that replace present entries by other versions of the same paths. None is a path to delete.

    Without `reads_new_files`, the edits of new files name their blobs instead of containing their bytes.

    Raises:
        RestoreNotPossible: a version is a symbolic link or a submodule.
        PayloadTooLarge: there are more bytes than one commit takes.
    """
    remaining = CommitLimits.bytes
    for path, version in sorted(versions.items()):
        now = present.get(path)
        if now is not None and now.type == FOLDER:
            now = None
        if version is None:
            yield FileEdit(FileChange(path, Action.DELETE), now.sha if now else None)
            continue
        if now is not None and (version.sha, is_executable(version)) == (now.sha, is_executable(now)):
            continue
        _require_file(path, version, now)
        if now is None and not reads_new_files:
            change = FileChange(path, Action.CREATE, is_executable=is_executable(version), blob=version)
            yield FileEdit(change)
            continue
        content = _read(source, version, max_bytes=remaining)
        remaining -= len(content)
        action = Action.CREATE if now is None else Action.UPDATE
        change = FileChange(path, action, content, is_executable=is_executable(version))
        yield FileEdit(change, now.sha if now else None)


def _require_file(path: str, version: TreeEntry, now: TreeEntry | None) -> None:
    """Refuse an entry that a save cannot write: a submodule or a symbolic link."""
    if version.type == EntryType.COMMIT or (now is not None and now.type == EntryType.COMMIT):
        raise RestoreNotPossible(f"{path} is a submodule at one of the commits, which a save cannot write")
    if SYMLINK in (version.mode, now and now.mode):
        raise RestoreNotPossible(f"{path} is a symbolic link at one of the commits, which a save cannot write")


def _read(source: Source, entry: TreeEntry, *, max_bytes: int) -> bytes:
    try:
        return source.repository.blob(entry.sha, max_bytes=max_bytes)
    except TooLargeToRead as error:
        raise PayloadTooLarge(TOO_LARGE) from error
