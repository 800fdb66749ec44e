"""Deletion, move and restoration of entries: the files that belong to them, and the paths that they can have."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial

from app.content.entry_files import (
    EntryFiles,
    MoveProblem,
    entry_files,
    folder_of_index,
    move_problem,
    new_page_problem,
)
from app.core.errors import Conflict, ErrorMessage, InvalidRequest, NotFound, PayloadTooLarge
from app.core.limits import CommitLimits
from app.resources.project_content.save_request import FileEdit
from app.resources.project_content.saving.commit_builder import NoChange
from app.resources.project_content.saving.restore import RestoreNotPossible, RestoreRequest, plan_restore
from app.resources.project_content.source import Source
from app.resources.project_content.versions.file_metadata import FOLDER
from app.resources.project_content.versions.history import FileRemoval

MAX_ENTRIES = 10_000
"""The files and folders of one folder that are read."""

MAX_FOLDERS = 30
"""The folders that are read one by one. For more, the tree of the commit is read once."""

_PROBLEMS = {
    MoveProblem.START_PAGE: ErrorMessage("This is the start page of its folder. It cannot be moved to another folder"),
    MoveProblem.EXISTS: ErrorMessage("There is a folder with this name. Choose another name"),
    MoveProblem.IN_ENTRY: ErrorMessage("This folder belongs to one page. The site does not show other pages in it"),
    MoveProblem.OTHER_PAGES: ErrorMessage("With this name the site would no longer show the other pages of the folder"),
    MoveProblem.NEEDS_FOLDER: ErrorMessage("This page is a folder with other files. Enter the name of a folder"),
    MoveProblem.NO_PAGES: ErrorMessage("The site does not show pages of this folder"),
}


def read_entries(source: Source, commit: str, paths: Sequence[str], generator: str | None) -> list[EntryFiles]:
    """Return the files of the entries of some pages at a commit, in the order of `paths`. Calls the Git host.

    Of an entry with more files than one commit takes, at least one file more is returned.
    """
    folders = {folder for path in paths if (folder := folder_of_index(path)) is not None}
    below = _files_below(source, commit, folders)
    return [entry_files(path, below.get(path.rpartition("/")[0], ()), generator) for path in paths]


def entries_to_change(
    source: Source, commit: str, paths: Sequence[str], generator: str | None, *, base_sha: str | None = None
) -> list[EntryFiles]:
    """Return the files of the entries that a form moves or deletes. Calls the Git host.

    `commit` is the present head of the branch. `base_sha` is the commit that the form showed, unless the change is
    proposed in a change set with other changes.

    Raises:
        PayloadTooLarge: an entry has more files than one commit takes.
        Conflict: the folder of an entry has received or lost files since `base_sha`.
    """
    entries = read_entries(source, commit, paths, generator)
    for entry in entries:
        if len(entry.files) > CommitLimits.files:
            raise PayloadTooLarge(
                ErrorMessage(
                    "“%(name)s” has more than %(count)s files. Delete or move its pages first",
                    name=entry.address,
                    count=CommitLimits.files,
                )
            )
    if base_sha and base_sha != commit:
        for entry, shown in zip(entries, read_entries(source, base_sha, paths, generator), strict=True):
            if entry.files != shown.files:
                raise Conflict(
                    ErrorMessage("The files of “%(name)s” have changed. Load the page again", name=entry.address)
                )
    return entries


def require_movable(
    source: Source, commit: str, moves: Iterable[tuple[EntryFiles, str]], generator: str | None, *, field: str
) -> None:
    """Refuse new paths of pages that would change what a page of the site is. Calls the Git host.

    `moves` are the entries with the new paths of their pages. The error names the field of the form.

    Raises:
        InvalidRequest: a page cannot have its new path.
    """
    names = cache(partial(_names, source, commit))
    for entry, page in moves:
        _refuse(move_problem(entry, page, names, generator), field)


def require_visible(source: Source, commit: str, page: str, generator: str | None, *, field: str) -> None:
    """Refuse the path of a new page that the site would not show, or that would hide others. Calls the Git host.

    Raises:
        InvalidRequest: a page cannot have this path. The error names the field of the form.
    """
    _refuse(new_page_problem(page, cache(partial(_names, source, commit)), generator), field)


def _refuse(problem: MoveProblem | None, field: str) -> None:
    if problem is not None:
        raise InvalidRequest.field(field, _PROBLEMS[problem])


def _names(source: Source, commit: str, folder: str) -> Collection[str]:
    listed = source.repository.list_folder(commit, folder, limit=MAX_ENTRIES)
    return frozenset(entry.path.rpartition("/")[2] for entry in listed)


def edits_of_removed(source: Source, removal: FileRemoval, path: str, page: str) -> list[FileEdit]:
    """Return the edits that restore the other files of the folder of a removed page. Calls the Git host.

    `page` is the path with which the page is saved again. There are none if it is no folder, if the branch still
    contains the folder, or if a commit cannot contain its files.
    """
    folder, commit = folder_of_index(path), removal.commit
    if folder is None or commit is None or commit.parent is None or folder_of_index(page) is None:
        return []
    head = source.repository.head(source.branch)
    if source.repository.entries(head, [folder]):
        return []
    try:
        planned = plan_restore(source, RestoreRequest(folder, True, commit.parent, head))
    except (NotFound, RestoreNotPossible, PayloadTooLarge):
        return []
    edits = () if isinstance(planned, NoChange) else planned
    new = page.rpartition("/")[0]
    return [
        replace(edit, change=replace(edit.change, path=f"{new}{edit.change.path[len(folder) :]}"))
        for edit in edits
        if edit.change.path != path
    ]


def _files_below(source: Source, commit: str, folders: Collection[str]) -> dict[str, list[str]]:
    if len(folders) > MAX_FOLDERS:
        return _files_of_tree(source, commit, folders)
    return {folder: list(_walk(source, commit, folder)) for folder in folders}


def _walk(source: Source, commit: str, folder: str) -> Iterator[str]:
    """Yield the files below a folder, and at most one more than a commit takes."""
    waiting, count = [folder], 0
    while waiting and count <= CommitLimits.files:
        for entry in source.repository.list_folder(commit, waiting.pop(), limit=MAX_ENTRIES):
            if entry.type == FOLDER:
                waiting.append(entry.path)
            else:
                count += 1
                yield entry.path


def _files_of_tree(source: Source, commit: str, folders: Collection[str]) -> dict[str, list[str]]:
    below: dict[str, list[str]] = {folder: [] for folder in folders}
    for entry in source.repository.tree(commit):
        folder = entry.path.rpartition("/")[0]
        while folder:
            if folder in below:
                below[folder].append(entry.path)
            folder = folder.rpartition("/")[0]
    return below
