"""Merge of the files of a save with those of the branch, instead of a refusal.

A save is planned for each head of the branch. If one file cannot be merged, nothing is written.
"""

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import NamedTuple

from app.concurrency.threadpool import offload, switch
from app.content.front_matter.item_diff import MISSING
from app.content.merge.files import (
    ConflictKind,
    FileConflicts,
    LineRange,
    MergeConflict,
    MergedFile,
    merge_file,
    whole_conflict,
)
from app.content.three_way import Choice, Replacement
from app.core.errors import Conflict, FieldError, InvalidRequest
from app.core.limits import CommitLimits
from app.drivers.git.commit_plan import SYMLINK, is_executable
from app.drivers.git.errors import GitObjectMissing, TooLargeToRead
from app.drivers.git.object_ids import blob_sha
from app.drivers.git.port import Action, EntryType, FileChange, TreeEntry
from app.drivers.git.revisions import Revisions
from app.resources.project_content.save_request import Attribution, FileEdit, SaveRequest
from app.resources.project_content.saving.commit_builder import LinkNotEditable, MergedPath, PlannedSave
from app.resources.project_content.saving.refusals import (
    MergeRefused,
    RefusedPath,
    Resolution,
    UnknownConflict,
    conflict_list,
    location_of,
)
from app.resources.project_content.saving.renames import follow_renames
from app.resources.project_content.source import Source, is_version

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
        refusal: type[MergeRefused] = MergeRefused,
    ) -> None:
        """Read the entries of the bases.

        `check` validates the edits of a plan. `resolutions` are those of conflicts, by path.

        Raises:
            BaseRequired: a changed file has no base.
            MissingBase: the repository does not contain the base commit.
        """
        self._source, self._check = source, check
        self._resolutions, self._refusal = resolutions or {}, refusal
        changed = [edit for edit in request.edits if edit.change.action != Action.CREATE]
        if request.base_sha is None and (
            paths := [_origin(change) for change in changed if change.base_blob_sha is None]
        ):
            raise BaseRequired(paths)
        self._entries = self._base_entries(request.base_sha, [_origin(edit) for edit in request.edits])
        self.request = replace(request, edits=[self._with_own_mode(edit) for edit in request.edits])
        self._blobs = dict[str, bytes | None]()
        self._verified, self._former = dict[tuple[str, str], bool](), dict[str, str]()
        self._results = dict[tuple[str, str], MergedFile | FileConflicts]()

    def plan(self, head: str) -> MergePlan:
        """Merge the edits with a head. Nothing is written.

        Raises:
            MissingBase: the repository does not contain the base of a changed file.
            LinkNotEditable: an edit would write into a symbolic link.
            UnknownConflict: there is no conflict for a resolution.
            InvalidRequest: the check refuses the result.
        """
        plan = MergePlan(head)
        paths = {path for edit in self.request.edits for path in edit.paths}
        new = [edit.change.path for edit in self.request.edits if edit.change.action in (Action.CREATE, Action.MOVE)]
        folders = {folder for path in new for folder in _folders(path)}
        entries = self._source.repository.entries(head, sorted(paths | folders))
        vacated = {_origin(edit) for edit in self.request.edits if edit.change.action in (Action.DELETE, Action.MOVE)}
        locations = set[tuple[str, str | int | LineRange | None]]()
        for edit in self._followed(head, entries):
            switch()  # Other requests run between the files of a large save.
            count = len(plan.conflicts)
            written = self._merge(plan, edit, entries, vacated) if edit is not None else None
            locations |= {
                (conflict.path, location)
                for conflict in plan.conflicts[count:]
                for location in (None, location_of(conflict.conflict))
            }
            if edit is not None and len(plan.conflicts) > count and plan.conflicts[count].path in self._resolutions:
                written = self._resolve(plan, edit, count, entries.get(_origin(edit)))
            plan.written.append(written)
        resolutions = [(path, chosen) for path, resolution in self._resolutions.items() for chosen in resolution]
        if unknown := [
            resolution for resolution in resolutions if (resolution[0], resolution[1].location) not in locations
        ]:
            raise UnknownConflict(unknown)
        if self._check is not None and not plan.conflicts:
            pairs = zip(plan.written, self.request.edits, strict=True)
            self._check([merged or FileEdit(FileChange(edit.change.path, Action.DELETE)) for merged, edit in pairs])
        return plan

    def planned_save(self, head: str, attribution: Attribution) -> PlannedSave:
        """Return the save for a head. Raises the refusal (`MergeRefused`) if a file cannot be merged, and as `plan`."""
        plan = self.plan(head)
        if plan.conflicts:
            raise self._refusal(plan.head, plan.conflicts, [merged.path for merged in plan.merged])
        edits = [edit for edit in plan.written if edit is not None]
        return PlannedSave(self.request.on(head, edits, attribution), tuple(plan.merged))

    def read_base(self, edit: FileEdit) -> bytes | None:
        """Return the bytes of the base of an edit, or None if the file did not exist. Raises MissingBase."""
        base = self._base(edit)
        return None if base.sha is None else self._read(base.sha, _origin(edit), is_base=True)

    def _followed(self, head: str, entries: dict[str, TreeEntry]) -> Sequence[FileEdit | None]:
        """Return the edits with the paths that their files have at a head, and add the entries of these paths.

        The removal and the addition of one file that the branch changed are a move. Its removal is None.
        """
        bases = {_origin(edit): self._base(edit) for edit in self.request.edits if edit.change.action != Action.CREATE}
        files = {path: base.sha for path, base in bases.items() if base.sha is not None and not base.is_special}
        changed = {path: sha for path, sha in files.items() if path not in entries or entries[path].sha != sha}
        if not changed:
            self._former = {}
            return self.request.edits
        edits, renames = follow_renames(
            self._source, (self.request.base_sha, head), self.request.edits, changed, entries
        )
        entries |= self._source.repository.entries(head, sorted(renames.values())) if renames else {}
        self._former = {target: path for path, target in renames.items()}
        return edits

    def _base_entries(self, commit: str | None, paths: Sequence[str]) -> dict[str, TreeEntry]:
        if commit is None:
            return {}
        try:
            return self._source.repository.entries(commit, sorted(set(paths)))
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
            is_equal = target.sha == _sha_after(edit, _Base(None))
            return None if is_equal else self._refuse(plan, edit, _addition_kind(target), target)
        if theirs is not None and theirs.type == FOLDER:
            return self._refuse(plan, edit, ConflictKind.FILE_FOLDER, None)
        base = self._base(edit)
        if change.action == Action.MOVE and _origin(edit) in self._former:
            return self._refuse(plan, edit, ConflictKind.RENAME_EDIT, theirs)
        if theirs is not None and theirs.sha == base.sha:
            return self._unchanged(plan, edit, theirs, target)
        if base.is_special or (theirs is not None and theirs.type != EntryType.BLOB):
            return self._refuse(plan, edit, ConflictKind.BINARY, theirs)
        if change.action == Action.MOVE:
            return self._move(plan, edit, theirs, target)
        if change.action == Action.DELETE:
            return None if theirs is None else self._refuse(plan, edit, ConflictKind.EDIT_DELETE, theirs)
        return self._update(plan, edit, theirs)

    def _with_own_mode(self, edit: FileEdit) -> FileEdit:
        """Return an edit without the mode of its base, so that the file keeps that of the head."""
        base, change = self._entries.get(_origin(edit)), edit.change
        if base is None or change.is_executable is None or is_executable(base) is not change.is_executable:
            return edit
        return replace(edit, change=replace(change, is_executable=None))

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

    def _move(
        self, plan: MergePlan, edit: FileEdit, theirs: TreeEntry | None, target: TreeEntry | None
    ) -> FileEdit | None:
        """Return the move of a file that the branch changed or removed."""
        if theirs is None or target is not None:
            is_done = theirs is None and target is not None and target.sha == _sha_after(edit, self._base(edit))
            return None if is_done else self._refuse(plan, edit, ConflictKind.RENAME_EDIT, theirs)
        result = self._result(plan, edit, theirs)
        return FileEdit(replace(edit.change, content=result.data), theirs.sha) if result is not None else None

    def _update(self, plan: MergePlan, edit: FileEdit, theirs: TreeEntry | None) -> FileEdit | None:
        if theirs is None:
            before = self.read_base(edit)
            if before is not None and before == edit.change.content:
                return None
            return self._refuse(plan, edit, ConflictKind.EDIT_DELETE, None)
        result = self._result(plan, edit, theirs)
        return _written(edit.change, result.data, theirs) if result is not None else None

    def _result(self, plan: MergePlan, edit: FileEdit, theirs: TreeEntry) -> MergedFile | None:
        """Merge a file that both sides changed. Add the merge or its conflicts to the plan."""
        path, base = edit.change.path, self._base(edit)
        before, mine = self.read_base(edit), self._mine(edit)
        present = self._read(theirs.sha, path) if theirs.mode != SYMLINK else None
        if mine is None or present is None or (before is None and base.sha is not None):
            self._refuse(plan, edit, ConflictKind.BINARY, theirs)
            return None
        key = path, theirs.sha
        if key not in self._results:
            self._results[key] = offload(merge_file, path, before, mine, present)
        result = self._results[key]
        if isinstance(result, FileConflicts):
            self._add(plan, edit, path, result)
            return None
        if before != mine and mine != present:
            plan.merged.append(MergedPath(path, result.fields))
        return result

    def _mine(self, edit: FileEdit) -> bytes | None:
        """Return the content of an edit. A move can keep that of its base."""
        content, blob = edit.change.content, edit.change.blob
        if content is None and blob is not None:
            return self._read(blob.sha, edit.change.path)
        return self.read_base(edit) if content is None and edit.change.action == Action.MOVE else content

    def _resolve(self, plan: MergePlan, edit: FileEdit, first: int, theirs: TreeEntry | None) -> FileEdit | None:
        """Return the edit of a file with the resolutions of its conflicts, which start at `first`.

        Conflicts without a resolution stay in the plan.
        """
        path = plan.conflicts[first].path
        resolutions = self._resolutions[path]
        refused = [conflict.conflict for conflict in plan.conflicts[first:]]
        if theirs is not None and theirs.type != EntryType.BLOB:
            return None
        by_location = {resolution.location: resolution.choice for resolution in resolutions}
        if None in by_location:
            del plan.conflicts[first:]
            return _whole_file(edit, by_location[None], theirs)
        choices = [by_location[location] for location in map(location_of, refused) if location in by_location]
        if len(choices) < len(refused) or theirs is None:
            return None
        before, present = self.read_base(edit), self._read(theirs.sha, path)
        result = offload(merge_file, path, before, self._mine(edit), present, choices)
        if isinstance(result, FileConflicts) or result.data is None:
            return None
        del plan.conflicts[first:]
        plan.merged.append(MergedPath(path, result.fields))
        if edit.change.action == Action.MOVE:
            return FileEdit(replace(edit.change, content=result.data), theirs.sha)
        return _written(edit.change, result.data, theirs)

    def _refuse(self, plan: MergePlan, edit: FileEdit, kind: ConflictKind, theirs: TreeEntry | None) -> FileEdit | None:
        """Add a conflict of whole files to the plan. Return None: the file is not written."""
        present = self._read(theirs.sha, theirs.path) if theirs is not None and kind != ConflictKind.BINARY else None
        if theirs is not None and present is None:  # It is too large to be shown.
            kind = ConflictKind.BINARY
        before = self.read_base(edit) if kind not in (ConflictKind.ADD_ADD, ConflictKind.BINARY) else None
        if kind == ConflictKind.BINARY:
            conflicts = FileConflicts((MergeConflict(kind, None, None, None),))
        else:
            conflicts = whole_conflict(kind, before, self._mine(edit), present)
        path = edit.change.path if kind in (ConflictKind.ADD_ADD, ConflictKind.FILE_FOLDER) else _origin(edit)
        self._add(plan, edit, path, conflicts)
        return None

    def _add(self, plan: MergePlan, edit: FileEdit, path: str, conflicts: FileConflicts) -> None:
        sha = self._base(edit).sha
        has_base = sha is not None and any(conflict.base not in (None, MISSING) for conflict in conflicts.conflicts)
        shows_base = not has_base or self._is_visible(self._former.get(_origin(edit), _origin(edit)), sha or "")
        plan.conflicts += [RefusedPath(path, conflict, shows_base) for conflict in conflicts.conflicts]

    def _is_visible(self, path: str, sha: str) -> bool:
        """Return whether a branch contains a version. Other objects of a repository are not readable."""
        if (path, sha) not in self._verified:
            can_verify = len(self._verified) < MAX_VERIFIED and isinstance(self._source.repository, Revisions)
            visible = can_verify and is_version(self._source, path, sha, base_sha=self.request.base_sha)
            self._verified[path, sha] = visible
        return self._verified[path, sha]

    def _read(self, sha: str, path: str, *, is_base: bool = False) -> bytes | None:
        """Return a blob, or None if it is too large. Raises MissingBase if a base is missing."""
        if sha not in self._blobs:
            try:
                data = self._source.repository.blob(sha, max_bytes=CommitLimits.bytes)
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


def _written(change: FileChange, data: bytes | None, theirs: TreeEntry) -> FileEdit | None:
    """Return the edit that writes a merge over a file. None if the file has its content and its mode."""
    if data is not None and blob_sha(data) == theirs.sha and change.is_executable in (None, is_executable(theirs)):
        return None
    return FileEdit(FileChange(theirs.path, Action.UPDATE, data, is_executable=change.is_executable), theirs.sha)


def _whole_file(edit: FileEdit, choice: Choice, theirs: TreeEntry | None) -> FileEdit | None:
    """Return the edit that writes a side or another text over a whole file. None keeps theirs."""
    change, sha = edit.change, theirs.sha if theirs is not None else None
    if choice == "theirs":
        return None
    content = str(choice.value).encode() if isinstance(choice, Replacement) else change.content
    if change.action == Action.MOVE and theirs is not None:
        return FileEdit(replace(change, content=content), sha)
    if content is None and change.blob is None:
        return FileEdit(FileChange(change.path, Action.DELETE), sha) if theirs is not None else None
    action = Action.CREATE if theirs is None else Action.UPDATE
    written = FileChange(change.path, action, content, is_executable=change.is_executable, blob=change.blob)
    return FileEdit(written, sha)


def _addition_kind(target: TreeEntry) -> ConflictKind:
    return ConflictKind.ADD_ADD if target.type == EntryType.BLOB else ConflictKind.BINARY


def _origin(edit: FileEdit) -> str:
    return edit.change.previous_path or edit.change.path


def _folders(path: str) -> list[str]:
    return [str(folder) for folder in PurePosixPath(path).parents][:-1]


def _sha_after(edit: FileEdit, base: _Base) -> str | None:
    content, blob = edit.change.content, edit.change.blob
    return blob_sha(content) if content is not None else blob.sha if blob is not None else base.sha


def preview(source: Source, planner: MergePlanner) -> dict[str, object]:
    """Return the files that a save would write on the present head, with the paths that merge and the conflicts."""
    plan = planner.plan(source.repository.head(source.branch))
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
