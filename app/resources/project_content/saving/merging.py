"""Merge of the files of a save with those of the branch, instead of a refusal.

A save is planned for each head of the branch. If one file cannot be merged, nothing is written.
"""

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

from app.concurrency.threadpool import offload, switch
from app.content.merge.files import (
    ConflictKind,
    FileConflicts,
    LineRange,
    MergeConflict,
    MergedFile,
    merge_file,
    whole_conflict,
)
from app.content.merge.values import MISSING
from app.content.three_way import Choice, Replacement
from app.core.errors import Conflict, FieldError, InvalidRequest
from app.core.limits import CommitLimits
from app.drivers.git.commit_plan import SYMLINK, is_executable
from app.drivers.git.errors import GitObjectMissing, TooLargeToRead
from app.drivers.git.object_ids import blob_sha
from app.drivers.git.port import Action, EntryType, FileChange, TreeEntry
from app.drivers.git.revisions import Revisions
from app.resources.project_content.saving.commit_builder import (
    CHANGED_FILE,
    Attribution,
    FileEdit,
    LinkNotEditable,
    MergedPath,
    PlannedSave,
    SaveConflict,
    SaveRequest,
)
from app.resources.project_content.source import Source, is_readable, is_version

MAX_SIDE_BYTES = 16 * 1024
MAX_SIDES_BYTES, MAX_LISTED = 1024 * 1024, 500
"""Limits of all conflicts of one response. Later sides are cut, and further conflicts are not listed."""

MAX_VERIFIED = 20
"""Files whose base is searched in the history. The base of further ones is not shown."""
FOLDER = "tree"

Check = Callable[[Sequence[FileEdit]], None]


class BaseRequired(InvalidRequest):
    """A merge of a file without the version from which the edit started (400)."""

    code = "BASE_REQUIRED"
    message = "A merge needs the version from which each edit started. Send base_blob_sha or base_sha"

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(fields=[FieldError(path, "Send base_blob_sha of this file, or base_sha") for path in paths])


class MissingBase(Conflict):
    """A merge from a version that the repository does not contain (409)."""

    code = "BASE_GONE"
    message = "The repository does not contain the version from which the edit started. Nothing was saved"

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(fields=[FieldError(path, self.message) for path in paths])


class MergeRefused(SaveConflict):
    """Files that cannot be merged (409). `result` contains the conflicts and the paths that could be merged."""

    def __init__(self, plan: "MergePlan") -> None:
        paths = dict.fromkeys(conflict.path for conflict in plan.conflicts)
        super().__init__(plan.head, dict.fromkeys(paths, CHANGED_FILE))
        self.result = {
            "head_sha": plan.head,
            "paths": list(paths),
            "mergeable": [merged.path for merged in plan.merged],
            "conflicts": conflict_list(plan.conflicts),
        }


@dataclass(frozen=True)
class MergeRequest:
    """The edits of a merged save, with the commit from which edits without a base blob started."""

    base_sha: str | None
    edits: Sequence[FileEdit]
    message: str
    description: str | None = None

    def on(self, head: str, edits: Sequence[FileEdit], attribution: Attribution) -> SaveRequest:
        """Return the save of merged edits on a head."""
        return SaveRequest(head, edits, self.message, self.description, attribution)

    def commit_message(self, attribution: Attribution) -> str:
        """Return the message with the description and the trailers."""
        return self.on("", (), attribution).commit_message


class Resolution(NamedTuple):
    """The resolution of a conflict of a file, or of all of it.

    `location` is that of the conflict: a pointer, the number of a block, or lines. None is the whole file.
    """

    location: str | int | LineRange | None
    choice: Choice


class RefusedPath(NamedTuple):
    """A conflict of one path. `shows_base` is False if no branch contains the base."""

    path: str
    conflict: MergeConflict
    shows_base: bool


@dataclass
class MergePlan:
    """The result of a merge with one head. `written` contains the edit of each file, or None if it has no effect."""

    head: str
    written: list[FileEdit | None] = field(default_factory=list)
    merged: list[MergedPath] = field(default_factory=list)
    conflicts: list[RefusedPath] = field(default_factory=list)


class _Base(NamedTuple):
    """The version from which an edit started. `sha` is None if the file did not exist.

    `is_special` is True for a symbolic link and a submodule.
    """

    sha: str | None
    is_special: bool = False


class MergePlanner:
    """Planner of a save for the heads of a branch. It reads each base and merges each pair of versions once."""

    def __init__(
        self,
        source: Source,
        request: MergeRequest,
        *,
        check: Check | None = None,
        resolutions: Mapping[str, Sequence[Resolution]] | None = None,
    ) -> None:
        """Read the entries of the bases.

        `check` validates the edits of a plan. `resolutions` are those of conflicts, by path.

        Raises:
            BaseRequired: a changed file has no base.
            MissingBase: the repository does not contain the base commit.
        """
        self._source, self.request, self._check = source, request, check
        self._resolutions = resolutions or {}
        changed = [edit for edit in request.edits if edit.change.action != Action.CREATE]
        if request.base_sha is None and (paths := [_origin(one) for one in changed if one.base_blob_sha is None]):
            raise BaseRequired(paths)
        self._entries = self._base_entries(request.base_sha, [_origin(edit) for edit in request.edits])
        self._blobs = dict[str, bytes | None]()
        self._verified = dict[tuple[str, str], bool]()
        self._results = dict[tuple[str, str], MergedFile | FileConflicts]()

    def plan(self, head: str) -> MergePlan:
        """Merge the edits with a head. Nothing is written.

        Raises:
            MissingBase: the repository does not contain the base of a changed file.
            LinkNotEditable: an edit would write into a symbolic link.
            InvalidRequest: the check refuses the result.
        """
        plan = MergePlan(head)
        paths = {path for edit in self.request.edits for path in edit.paths}
        new = [edit.change.path for edit in self.request.edits if edit.change.action in (Action.CREATE, Action.MOVE)]
        folders = {folder for path in new for folder in _folders(path)}
        entries = self._source.git.entries(self._source.repo, head, sorted(paths | folders))
        vacated = {_origin(edit) for edit in self.request.edits if edit.change.action in (Action.DELETE, Action.MOVE)}
        for edit in self.request.edits:
            switch()  # Other requests run between the files of a large save.
            count = len(plan.conflicts)
            written = self._merge(plan, edit, entries, vacated)
            if len(plan.conflicts) > count and edit.change.path in self._resolutions:
                written = self._resolve(plan, edit, count, entries.get(edit.change.path))
            plan.written.append(written)
        if self._check is not None and not plan.conflicts:
            pairs = zip(plan.written, self.request.edits, strict=True)
            self._check([one or FileEdit(FileChange(edit.change.path, Action.DELETE)) for one, edit in pairs])
        return plan

    def planned_save(self, head: str, attribution: Attribution) -> PlannedSave:
        """Return the save for a head. Raises MergeRefused if a file cannot be merged, and as `plan`."""
        plan = self.plan(head)
        if plan.conflicts:
            raise MergeRefused(plan)
        edits = [edit for edit in plan.written if edit is not None]
        return PlannedSave(self.request.on(head, edits, attribution), tuple(plan.merged))

    def read_base(self, edit: FileEdit) -> bytes | None:
        """Return the bytes of the base of an edit, or None if the file did not exist. Raises MissingBase."""
        base = self._base(edit)
        return None if base.sha is None else self._read(base.sha, _origin(edit), is_base=True)

    def _base_entries(self, commit: str | None, paths: Sequence[str]) -> dict[str, TreeEntry]:
        if commit is None:
            return {}
        try:
            return self._source.git.entries(self._source.repo, commit, sorted(set(paths)))
        except GitObjectMissing as error:
            raise MissingBase(paths) from error

    def _base(self, edit: FileEdit) -> _Base:
        entry = self._entries.get(_origin(edit))
        if entry is not None and edit.base_blob_sha in (None, entry.sha) and entry.type != FOLDER:
            return _Base(entry.sha, entry.type != EntryType.BLOB or entry.mode == SYMLINK)
        return _Base(edit.base_blob_sha)

    def _merge(
        self, plan: MergePlan, edit: FileEdit, entries: dict[str, TreeEntry], vacated: set[str]
    ) -> FileEdit | None:
        """Return the edit of a file on the head of a plan, or None. Add its merge or its conflicts to the plan."""
        change, path = edit.change, edit.change.path
        theirs = entries.get(_origin(edit))
        target = entries.get(path) if path not in vacated else None
        if change.action in (Action.CREATE, Action.MOVE):
            above = [entries[folder] for folder in _folders(path) if folder in entries and folder not in vacated]
            if any(entry.type != FOLDER for entry in above) or (target is not None and target.type == FOLDER):
                return self._refuse(plan, edit, ConflictKind.FILE_FOLDER, None)
        if change.action == Action.CREATE:
            if target is None:
                return edit
            is_equal = change.content is not None and target.sha == blob_sha(change.content)
            return None if is_equal else self._refuse(plan, edit, _addition_kind(target), target)
        if theirs is not None and theirs.type == FOLDER:
            return self._refuse(plan, edit, ConflictKind.FILE_FOLDER, None)
        base = self._base(edit)
        if theirs is not None and theirs.sha == base.sha:
            return self._unchanged(plan, edit, theirs, target)
        if base.is_special or (theirs is not None and theirs.type != EntryType.BLOB):
            return self._refuse(plan, edit, ConflictKind.BINARY, theirs)
        if change.action == Action.MOVE:
            is_done = theirs is None and target is not None and target.sha == _sha_after(edit, base)
            return None if is_done else self._refuse(plan, edit, ConflictKind.RENAME_EDIT, theirs)
        if change.action == Action.DELETE:
            return None if theirs is None else self._refuse(plan, edit, ConflictKind.EDIT_DELETE, theirs)
        return self._update(plan, edit, base, theirs)

    def _unchanged(
        self, plan: MergePlan, edit: FileEdit, theirs: TreeEntry, target: TreeEntry | None
    ) -> FileEdit | None:
        """Return an edit of a file that only this save changes."""
        change = edit.change
        if change.content is not None and theirs.mode == SYMLINK:
            raise LinkNotEditable(fields=[FieldError(theirs.path, LinkNotEditable.message)])
        if theirs.type != EntryType.BLOB:
            return self._refuse(plan, edit, ConflictKind.BINARY, theirs)
        if change.action == Action.MOVE and target is not None:
            return self._refuse(plan, edit, _addition_kind(target), target)
        if change.action == Action.UPDATE and _sha_after(edit, _Base(None)) == theirs.sha:
            return FileEdit(change, theirs.sha) if change.is_executable is (not is_executable(theirs)) else None
        return FileEdit(change, theirs.sha)

    def _update(self, plan: MergePlan, edit: FileEdit, base: _Base, theirs: TreeEntry | None) -> FileEdit | None:
        change = edit.change
        before, mine = self.read_base(edit), change.content
        if theirs is None:
            if before is not None and before == mine:
                return None
            kind = ConflictKind.RENAME_EDIT if self._was_moved(plan.head, base) else ConflictKind.EDIT_DELETE
            return self._refuse(plan, edit, kind, None)
        present = self._read(theirs.sha, change.path) if theirs.mode != SYMLINK else None
        if mine is None or present is None or (before is None and base.sha is not None):
            return self._refuse(plan, edit, ConflictKind.BINARY, theirs)
        key = change.path, theirs.sha
        if key not in self._results:
            self._results[key] = offload(merge_file, change.path, before, mine, present)
        result = self._results[key]
        if isinstance(result, FileConflicts):
            self._add(plan, edit, change.path, result)
            return None
        if before != mine and mine != present:
            plan.merged.append(MergedPath(change.path, result.fields))
        if result.data == present:
            return None
        return FileEdit(FileChange(change.path, Action.UPDATE, result.data), theirs.sha)

    def _resolve(self, plan: MergePlan, edit: FileEdit, first: int, theirs: TreeEntry | None) -> FileEdit | None:
        """Return the edit of a file with the resolutions of its conflicts, which start at `first`.

        Conflicts without a resolution stay in the plan.
        """
        path, resolutions = edit.change.path, self._resolutions[edit.change.path]
        refused = [one.conflict for one in plan.conflicts[first:]]
        if theirs is not None and theirs.type != EntryType.BLOB:
            return None
        by_location = {one.location: one.choice for one in resolutions}
        if None in by_location:
            del plan.conflicts[first:]
            return _whole_file(edit, by_location[None], theirs)
        choices = [by_location[location] for location in map(_location, refused) if location in by_location]
        if len(choices) < len(refused) or theirs is None:
            return None
        before, present = self.read_base(edit), self._read(theirs.sha, path)
        result = offload(merge_file, path, before, edit.change.content, present, choices)
        if isinstance(result, FileConflicts) or result.data is None:
            return None
        del plan.conflicts[first:]
        plan.merged.append(MergedPath(path, result.fields))
        return FileEdit(FileChange(path, Action.UPDATE, result.data), theirs.sha) if result.data != present else None

    def _was_moved(self, head: str, base: _Base) -> bool:
        """Return whether the branch contains the base of a removed file at a new path."""
        commit = self.request.base_sha
        if commit is None or base.sha is None or not is_readable(self._source, commit):
            return False
        changes = self._source.git.changes(self._source.repo, commit, head)
        return any(change.entry is not None and change.entry.sha == base.sha for change in changes)

    def _refuse(self, plan: MergePlan, edit: FileEdit, kind: ConflictKind, theirs: TreeEntry | None) -> FileEdit | None:
        """Add a conflict of whole files to the plan. Return None: the file is not written."""
        present = self._read(theirs.sha, theirs.path) if theirs is not None and kind != ConflictKind.BINARY else None
        before = self.read_base(edit) if kind not in (ConflictKind.ADD_ADD, ConflictKind.BINARY) else None
        if kind == ConflictKind.BINARY:
            conflicts = FileConflicts((MergeConflict(kind, None, None, None),))
        else:
            mine = edit.change.content
            is_move = edit.change.action == Action.MOVE and mine is None
            conflicts = whole_conflict(kind, before, before if is_move else mine, present)
        path = edit.change.path if kind in (ConflictKind.ADD_ADD, ConflictKind.FILE_FOLDER) else _origin(edit)
        self._add(plan, edit, path, conflicts)
        return None

    def _add(self, plan: MergePlan, edit: FileEdit, path: str, conflicts: FileConflicts) -> None:
        sha = self._base(edit).sha
        has_base = sha is not None and any(one.base not in (None, MISSING) for one in conflicts.conflicts)
        shows_base = not has_base or self._is_visible(_origin(edit), sha or "")
        plan.conflicts += [RefusedPath(path, conflict, shows_base) for conflict in conflicts.conflicts]

    def _is_visible(self, path: str, sha: str) -> bool:
        """Return whether a branch contains a version. Other objects of a repository are not readable."""
        if (path, sha) not in self._verified:
            can_verify = len(self._verified) < MAX_VERIFIED and isinstance(self._source.git, Revisions)
            visible = can_verify and is_version(self._source, path, sha, base_sha=self.request.base_sha)
            self._verified[path, sha] = visible
        return self._verified[path, sha]

    def _read(self, sha: str, path: str, *, is_base: bool = False) -> bytes | None:
        """Return a blob, or None if it is too large. Raises MissingBase if a base is missing."""
        if sha not in self._blobs:
            try:
                data = _bounded(self._source.git.open_blob(self._source.repo, sha))
            except TooLargeToRead:
                return None
            except GitObjectMissing as error:
                if is_base:
                    raise MissingBase([path]) from error
                raise
            if not is_base:
                return data
            self._blobs[sha] = data
        return self._blobs[sha]


def _location(conflict: MergeConflict) -> str | int | LineRange | None:
    locations = (conflict.pointer, conflict.block, conflict.lines)
    return next((location for location in locations if location is not None), None)


def _whole_file(edit: FileEdit, choice: Choice, theirs: TreeEntry | None) -> FileEdit | None:
    """Return the edit that writes a side or another text over a whole file. None keeps theirs."""
    change, sha = edit.change, theirs.sha if theirs is not None else None
    if choice == "theirs":
        return None
    content = str(choice.value).encode() if isinstance(choice, Replacement) else change.content
    if content is None:
        return FileEdit(FileChange(change.path, Action.DELETE), sha) if theirs is not None else None
    action = Action.CREATE if theirs is None else Action.UPDATE
    return FileEdit(FileChange(change.path, action, content), sha)


def _bounded(pieces: Iterator[bytes]) -> bytes | None:
    """Return a blob, or None if a commit cannot contain it."""
    data = bytearray()
    for piece in pieces:
        data += piece
        if len(data) > CommitLimits.bytes:
            return None
    return bytes(data)


def _addition_kind(target: TreeEntry) -> ConflictKind:
    return ConflictKind.ADD_ADD if target.type == EntryType.BLOB else ConflictKind.BINARY


def _origin(edit: FileEdit) -> str:
    return edit.change.previous_path or edit.change.path


def _folders(path: str) -> list[str]:
    return [str(folder) for folder in PurePosixPath(path).parents][:-1]


def _sha_after(edit: FileEdit, base: _Base) -> str | None:
    return base.sha if edit.change.content is None else blob_sha(edit.change.content)


def conflict_list(conflicts: Sequence[RefusedPath]) -> list[dict[str, object]]:
    """Return conflicts as JSON values, within the limits of a response."""
    remaining, result = MAX_SIDES_BYTES, list[dict[str, object]]()
    for path, conflict, shows_base in conflicts[:MAX_LISTED]:
        sides = {"base": conflict.base if shows_base else None, "mine": conflict.mine, "theirs": conflict.theirs}
        missing = [name for name in sides if getattr(conflict, name) is MISSING]
        location = {"pointer": conflict.pointer, "block": conflict.block}
        entry: dict[str, object] = {"path": path, "kind": str(conflict.kind)}
        entry |= {name: value for name, value in location.items() if value is not None}
        if conflict.lines is not None:
            entry["lines"] = conflict.lines._asdict()
        truncated = not shows_base
        for name, side in sides.items():
            value, size, is_cut = _shortened(None if side is MISSING else side, min(MAX_SIDE_BYTES, remaining))
            entry[name], remaining, truncated = value, remaining - size, truncated or is_cut
        result.append(entry | {"missing": missing, "truncated": truncated})
    return result


def _shortened(value: object, limit: int) -> tuple[object, int, bool]:
    """Return a value, its size and whether it is cut. A cut value is the start of its text or of its JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= limit:
        return value, len(data), False
    return data[:limit].decode("utf-8", "ignore"), limit, True


def preview(source: Source, planner: MergePlanner) -> dict[str, object]:
    """Return the files that a save would write on the present head, with the paths that merge and the conflicts."""
    plan = planner.plan(source.git.head(source.repo, source.branch))
    return {
        "mergeable": [merged.path for merged in plan.merged],
        "conflicts": conflict_list(plan.conflicts),
        "files": list(_preview_files(planner, plan)),
    }


def _preview_files(planner: MergePlanner, plan: MergePlan) -> Iterator[dict[str, object]]:
    for edit in plan.written:
        if edit is None:
            continue
        change = edit.change
        if change.previous_path is not None:
            yield {"path": change.previous_path, "content": None, "encoding": "utf-8"}
        content = planner.read_base(edit) if change.content is None and change.action == Action.MOVE else change.content
        yield {"path": change.path, **_encoded(content)}


def _encoded(content: bytes | None) -> dict[str, object]:
    if content is None:
        return {"content": None, "encoding": "utf-8"}
    try:
        return {"content": content.decode(), "encoding": "utf-8"}
    except UnicodeDecodeError:
        return {"content": base64.b64encode(content).decode(), "encoding": "base64"}
