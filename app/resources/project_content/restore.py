"""Restore of a file or folder as it was at a past commit, as an ordinary commit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.core.errors import NotFound, PayloadTooLarge, UnprocessableEntity
from app.core.limits import MIB, CommitLimits
from app.drivers.git.commit_plan import SYMLINK, is_executable
from app.drivers.git.errors import GitObjectMissing, TooLargeToRead
from app.drivers.git.port import Action, EntryType, FileChange, TreeEntry
from app.drivers.git.revisions import FileStatus
from app.resources.project_content.commit_builder import FileEdit, SaveConflict
from app.resources.project_content.commit_refs import find_commit, revisions_of
from app.resources.project_content.front_matter import NoChange
from app.resources.project_content.raw_file import FOLDER
from app.resources.project_content.source import Source

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

    A file that had another path at the commit is found by the comparison of the two commits. The restored file is
    written to `path`.

    Raises:
        NotFound: no branch contains the commit, or the commit does not contain the path.
        RestoreNotPossible: a version is a symbolic link or a submodule.
        PayloadTooLarge: there are more files or bytes than one commit takes.
        SaveConflict: the base is unknown.
    """
    commit = find_commit(source, request.commit_sha)
    try:
        versions = _folder_versions(source, commit, request) if request.is_folder else _file(source, commit, request)
        present = source.git.entries(source.repo, request.base_sha, sorted(versions))
    except GitObjectMissing as unknown:
        head = source.git.head(source.repo, source.branch)
        raise SaveConflict(head, {request.path: "The commit you started from is not part of this branch"}) from unknown
    edits = list(_edits(source, versions, present))
    return edits or NoChange(source.branch, request.base_sha)


def _file(source: Source, commit: str, request: RestoreRequest) -> dict[str, TreeEntry | None]:
    path = request.path
    entry = source.git.entries(source.repo, commit, [path]).get(path)
    if entry is None:
        entry = _before_rename(source, commit, request)
    if entry is None or entry.type == FOLDER:
        raise NotFound("There is no such file at this commit")
    return {path: entry}


def _before_rename(source: Source, commit: str, request: RestoreRequest) -> TreeEntry | None:
    """Return the entry of the file under its earlier path, or None."""
    differences = revisions_of(source).compare(source.repo, commit, request.base_sha)
    for file in differences.files:
        if file.status == FileStatus.RENAMED and file.path == request.path and file.previous_path:
            return source.git.entries(source.repo, commit, [file.previous_path]).get(file.previous_path)
    return None


def _folder_versions(source: Source, commit: str, request: RestoreRequest) -> dict[str, TreeEntry | None]:
    """Return the entries of the changed paths of a folder at the commit. None is a path to delete."""
    entry = source.git.entries(source.repo, commit, [request.path]).get(request.path)
    if entry is None or entry.type != FOLDER:
        raise NotFound("There is no such folder at this commit")
    changes = source.git.changes(source.repo, request.base_sha, commit)
    versions = {change.path: change.entry for change in changes if change.path.startswith(f"{request.path}/")}
    if len(versions) > CommitLimits.files:
        raise PayloadTooLarge(f"A commit can contain at most {CommitLimits.files} files")
    return versions


def _edits(
    source: Source, versions: Mapping[str, TreeEntry | None], present: Mapping[str, TreeEntry]
) -> Iterator[FileEdit]:
    remaining = CommitLimits.bytes
    for path, version in sorted(versions.items()):
        now = present.get(path)
        if now is not None and now.type == FOLDER:
            now = None
        if version is None:
            yield FileEdit(FileChange(path, Action.DELETE), now.sha if now else None)
            continue
        if now is not None and _is_equal(version, now):
            continue
        _require_file(path, version, now)
        content = _read(source, version)
        remaining -= len(content)
        if remaining < 0:
            raise PayloadTooLarge(TOO_LARGE)
        action = Action.CREATE if now is None else Action.UPDATE
        change = FileChange(path, action, content, is_executable=is_executable(version))
        yield FileEdit(change, now.sha if now else None)


def _is_equal(version: TreeEntry, now: TreeEntry) -> bool:
    """Return whether the bytes and the executable bit are equal."""
    return version.sha == now.sha and is_executable(version) == is_executable(now)


def _require_file(path: str, version: TreeEntry, now: TreeEntry | None) -> None:
    """Refuse an entry that a save cannot write: a submodule, and a link that is created or replaces a file."""
    is_link = version.mode == SYMLINK
    was_link = is_link if now is None else now.mode == SYMLINK
    if version.type == EntryType.COMMIT or (now is not None and now.type == EntryType.COMMIT):
        raise RestoreNotPossible(f"{path} is a submodule at one of the commits and cannot be restored")
    if is_link != was_link or (is_link and now is None):
        raise RestoreNotPossible(f"{path} is a symbolic link at one of the commits and cannot be restored")


def _read(source: Source, entry: TreeEntry) -> bytes:
    if (entry.size or 0) > CommitLimits.bytes:
        raise PayloadTooLarge(TOO_LARGE)
    try:
        return source.git.blob(source.repo, entry.sha)
    except TooLargeToRead as error:
        raise PayloadTooLarge(TOO_LARGE) from error
