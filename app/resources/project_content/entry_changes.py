"""Deletion, move and restoration of entries: the files that belong to them, and the paths that they can have."""

import posixpath
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import islice

from app.content.entry_files import (
    EntryFiles,
    FolderNames,
    MoveProblem,
    entry_files,
    folder_of_index,
    folders_above,
    is_page,
    move_problem,
    new_page_problem,
)
from app.content.moved_links import PageMove
from app.content.schema.model import ContentSchema
from app.content.schema.patterns import matches
from app.content.schema.validation import collection_of
from app.core.errors import Conflict, ErrorMessage, InvalidRequest, NotFound, PayloadTooLarge, UnprocessableEntity
from app.core.limits import CommitLimits
from app.drivers.git.commit_plan import is_plain_file
from app.drivers.git.port import EntryType
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

PATHS_PER_STEP, PAGES_PER_STEP = 5_000, 100
MAX_PAGE_BYTES = 1024 * 1024
"""The bytes of a moved page whose links are read."""

TOO_LARGE_TOGETHER = ErrorMessage("The selected files are too large for one change. Select fewer files")

TOO_MANY_FILES = f"A commit can contain at most {CommitLimits.files} files"

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
    folders = {folder for path in paths if (folder := folder_of_index(path, generator)) is not None}
    below = _files_below(source, commit, folders)
    return [entry_files(path, below.get(path.rpartition("/")[0], ()), generator) for path in paths]


def entries_to_change(
    source: Source,
    commit: str,
    paths: Sequence[str],
    generator: str | None,
    *,
    base_sha: str | None = None,
    deletes: bool = False,
) -> list[EntryFiles]:
    """Return the files of the entries that a form moves or deletes. Calls the Git host.

    `commit` is the present head of the branch. `base_sha` is the commit that the form showed, unless the change is
    proposed in a change set with other changes. With `deletes`, a page of which other languages remain is an entry
    alone.

    Raises:
        PayloadTooLarge: an entry has more files than one commit takes.
        Conflict: the folder of an entry has received or lost files since `base_sha`.
    """
    selected = frozenset(paths)

    def read(at: str) -> list[EntryFiles]:
        entries = read_entries(source, at, paths, generator)
        return [entry.deleted_with(selected) for entry in entries] if deletes else entries

    entries = read(commit)
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
        for entry, shown in zip(entries, read(base_sha), strict=True):
            if entry.files != shown.files:
                raise Conflict(
                    ErrorMessage("The files of “%(name)s” have changed. Load the page again", name=entry.address)
                )
    return entries


def require_permitted(schema: ContentSchema, entries: Iterable[EntryFiles]) -> None:
    """Refuse to move or delete entries with a file that the configuration of the site protects.

    Raises:
        UnprocessableEntity: a collection of a file does not permit its deletion.
    """
    protected = [collection for collection in schema.collections if not collection.can_delete]
    for path in (path for entry in entries for path in entry.files):
        collection = collection_of(schema, path) if any(matches(other, path) for other in protected) else None
        if collection is not None and not collection.can_delete:
            raise UnprocessableEntity(
                ErrorMessage("The configuration of the site does not permit moving or deleting “%(path)s”", path=path)
            )


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


def moved_pages(
    source: Source, commit: str, moves: Mapping[str, str], generator: str | None
) -> Iterator[tuple[str, bytes]]:
    """Yield the old paths and the new contents of moved pages whose relative links would lead to no file.

    `moves` are the new paths of files by their old ones. Calls the Git host.

    Raises:
        PayloadTooLarge: the pages are too large for one change.
    """
    pages = {old: page for old, new in moves.items() if (page := PageMove(old, new, moves, generator)).can_break}
    entries, size = source.repository.entries(commit, list(pages)) if pages else {}, 0
    files = {path: entry.sha for path, entry in entries.items() if is_plain_file(entry)}
    paths = list(files)
    for part in (paths[start : start + PAGES_PER_STEP] for start in range(0, len(paths), PAGES_PER_STEP)):
        shas = dict.fromkeys(files[path] for path in part)
        contents = {sha: data for sha, data in source.repository.blobs(shas, max_bytes=MAX_PAGE_BYTES) if data}
        read = {path: contents[files[path]] for path in part if files[path] in contents}
        named = {link for path, data in read.items() for link in pages[path].named(data)}
        linked = source.repository.entries(commit, sorted(named)) if named else {}
        present = {path for path, entry in linked.items() if entry.type == EntryType.BLOB}
        for path, data in read.items():
            time.sleep(0)  # yields to other requests
            moved = pages[path].rewritten(data, present)
            size += len(moved) if moved != data else 0
            if size > CommitLimits.bytes:
                raise PayloadTooLarge(TOO_LARGE_TOGETHER)
            if moved != data:
                yield path, moved


def translated_page(
    source: Source, commit: str, data: bytes, paths: tuple[str, str], copies: Mapping[str, str], generator: str | None
) -> bytes:
    """Return the copy of a page in another folder. Its relative links lead to copied files, else to the original ones.

    Links to other pages and to files that exist next to the copy stay. `paths` are those of the page and of the copy,
    and `copies` those of the files that are copied with it. Calls the Git host.
    """
    old, new = (posixpath.dirname(path) or "." for path in paths)
    named = PageMove(*paths, {}, generator).named(data)
    targets = {path: posixpath.normpath(posixpath.join(new, posixpath.relpath(path, old))) for path in named}
    present = source.repository.entries(commit, sorted({*named, *targets.values()})) if named else {}
    own = {path: copy for path, copy in targets.items() if copy in present or is_page(path)}
    return PageMove(*paths, {**own, **copies}, generator).rewritten(data, present)


def require_visible(source: Source, commit: str, page: str, generator: str | None, *, field: str) -> None:
    """Refuse the path of a new page that the site would not show, or that would hide others. Calls the Git host.

    Raises:
        InvalidRequest: a page cannot have this path. The error names the field of the form.
    """
    _refuse(new_page_problem(page, cache(partial(_names, source, commit)), generator), field)


def _refuse(problem: MoveProblem | None, field: str) -> None:
    if problem is not None:
        raise InvalidRequest.field(field, _PROBLEMS[problem])


def _names(source: Source, commit: str, folder: str) -> FolderNames:
    listed = source.repository.list_folder(commit, folder, limit=MAX_ENTRIES)
    folders = frozenset(entry.path.rpartition("/")[2] for entry in listed if entry.type == FOLDER)
    return FolderNames(frozenset(entry.path.rpartition("/")[2] for entry in listed) - folders, folders)


def edits_of_removed(
    source: Source, removal: FileRemoval, path: str, page: str, generator: str | None
) -> list[FileEdit]:
    """Return the edits that restore the other files of a removed entry. Calls the Git host.

    `page` is the path with which the page is saved again. There are none if the page was no folder, if the branch still
    contains the folder, or if a commit cannot contain its files.
    """
    commit = removal.commit
    if commit is None or commit.parent is None or folder_of_index(page, generator) is None:
        return []
    folder, head = folder_of_index(path, generator), source.repository.head(source.branch)
    if folder is None or source.repository.entries(head, [folder]):
        return []
    [entry] = read_entries(source, commit.parent, [path], generator)
    if entry.folder is None:
        return []
    try:
        planned = plan_restore(source, RestoreRequest(folder, True, commit.parent, head))
    except (NotFound, RestoreNotPossible, PayloadTooLarge):
        return []
    edits = () if isinstance(planned, NoChange) else planned
    new = page.rpartition("/")[0]
    names = entry.names_in(new, [edit.change.path for edit in edits])
    return [
        replace(edit, change=replace(edit.change, path=f"{new}/{names[edit.change.path]}"))
        for edit in edits
        if edit.change.path != path
    ]


def files_below(source: Source, commit: str, folder: str) -> list[str]:
    """Return the paths of the files below a folder at a commit. Calls the Git host."""
    return _files_below(source, commit, {folder})[folder]


def _files_below(source: Source, commit: str, folders: Collection[str]) -> dict[str, list[str]]:
    files, waiting, calls = set[str](), list(folders), 0
    while waiting and calls + len(waiting) <= MAX_FOLDERS:
        calls += 1
        for entry in source.repository.list_folder(commit, waiting.pop(), limit=MAX_ENTRIES):
            if entry.type != FOLDER:
                files.add(entry.path)
            elif entry.path not in folders:
                waiting.append(entry.path)
    paths = (entry.path for entry in source.repository.tree(commit)) if waiting else iter(files)
    below: dict[str, list[str]] = {folder: [] for folder in folders}
    while step := list(islice(paths, PATHS_PER_STEP)):
        time.sleep(0)  # yields to other requests
        for path in step:
            for folder in folders_above(path):
                if folder in below:
                    below[folder].append(path)
    return below
