"""Which files belong to an entry: a page alone, or a page with the files of its folder.

A page with the name `index` (a leaf bundle of Hugo, `{{slug}}/index` of Decap, a folder of Eleventy or Astro) is its
folder, and so is a section with the name `_index`.
"""

import posixpath
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import takewhile

from app.content.filetypes import file_type
from app.content.schema.inferred import IGNORED, LANGUAGE, ROOTS

HUGO = "hugo"
INDEX, SECTION = "index", "_index"
_PAGES = frozenset(
    (
        *("markdown", "mdx", "markdoc", "html", "asciidoc", "restructuredtext", "org", "textile"),
        *("astro", "vue", "svelte", "nunjucks", "liquid", "pug", "webc", "handlebars", "ejs"),
    )
)
_NO_PAGES = IGNORED | {"data", "_data", "i18n"}
"""Folders at the root of a site whose files are no pages."""

_PROGRAM = frozenset(("layouts", "themes", "static", "archetypes", "node_modules", "_layouts", "_includes"))
"""Folders above the content, at any level, whose pages do not own the files below them."""


@dataclass(frozen=True)
class FolderNames:
    """The names of the files and folders directly in a folder. Many new paths are compared with them."""

    names: Collection[str]

    @cached_property
    def index_pages(self) -> frozenset[str]:
        """The pages with the name `index`."""
        return frozenset(name for name in self.names if name.startswith(f"{INDEX}.") and is_page(name))

    @cached_property
    def pages(self) -> frozenset[str]:
        """The pages, and the folders, which can have pages."""
        return frozenset(name for name in self.names if "." not in name or is_page(name))


ListFolder = Callable[[str], FolderNames]


class MoveProblem(StrEnum):
    """A reason for which a page cannot have another path: the site would not show it or other pages as before."""

    START_PAGE = "start_page"
    EXISTS = "exists"
    IN_ENTRY = "in_entry"
    OTHER_PAGES = "other_pages"
    NO_PAGES = "no_pages"
    NEEDS_FOLDER = "needs_folder"


@dataclass(frozen=True)
class EntryFiles:
    """A page with the files that belong to it.

    Attributes:
        page: the path of the page.
        folder: the folder that is the entry, or None if the page is the entry.
        files: the paths of all files of the entry, with that of the page.
    """

    page: str
    folder: str | None
    files: tuple[str, ...]

    @property
    def address(self) -> str:
        """The path that names the entry: of its folder, else of its page."""
        return self.page if self.folder is None else self.folder

    @cached_property
    def translations(self) -> tuple[str, ...]:
        """The same page in other languages, in its folder."""
        own = self.page.rpartition("/")[0]
        return tuple(p for p in self.files if p != self.page and is_index(p) and p.rpartition("/")[0] == own)

    @cached_property
    def other_pages(self) -> tuple[str, ...]:
        """The pages of a section."""
        if self.folder is None or _stem(self.page) != SECTION:
            return ()
        return tuple(p for p in self.files if p != self.page and p not in self.translations and is_page(p))

    @property
    def attachments(self) -> tuple[str, ...]:
        """The files that are no pages of their own, for example images."""
        pages = {self.page, *self.translations, *self.other_pages}
        return tuple(path for path in self.files if path not in pages)

    def deleted_with(self, selected: frozenset[str]) -> "EntryFiles":
        """Return what is deleted with the page and other selected pages.

        While the entry remains in another language, this is the page alone.
        """
        return self if selected.issuperset(self.translations) else EntryFiles(self.page, None, (self.page,))

    def page_at(self, address: str) -> str:
        """Return the path of the page if the entry has another address. The address may also be that of a page."""
        name = self.page.rpartition("/")[2]
        is_own = self.folder is None or is_index(address) or address.endswith(name[name.rindex(".") :])
        return address if is_own else f"{address}/{name}"

    def page_in(self, folder: str) -> str:
        """Return the path of the page if the entry is moved to a folder."""
        name = self.address.rpartition("/")[2]
        return self.page_at(f"{folder}/{name}" if folder else name)

    def moves_to(self, page: str) -> Mapping[str, str]:
        """Return the new path of each file if the page has another path."""
        new = posixpath.dirname(page)
        if self.folder is None or not is_index(page) or new == self.folder:
            return {self.page: page}
        start = len(self.folder)
        moved = {path: f"{new}{path[start:]}" for path in self.files}
        return moved | {self.page: page}


def address_parts(path: str) -> tuple[str, str, str]:
    """Return the folder of a page, its address, and what follows: `content/posts`, `tide` and `/index.md`."""
    own = folder_of_index(path) or path
    start = own.rfind("/") + 1
    ending = re.search(rf"(?:\.{LANGUAGE.pattern})?\.\w+$", own[start + 1 :]) if own == path else None
    end = len(own) if ending is None else start + 1 + ending.start()
    return path[: start - 1] if start else "", path[start:end], path[end:]


def copy_path(path: str, number: int) -> str:
    """Return the path of a copy of an entry: its folder, else its page, has a number."""
    folder = folder_of_index(path)
    if folder is not None:
        return f"{folder}-{number}{path[len(folder) :]}"
    start, dot, ending = path.rpartition(".")
    return f"{start}-{number}{dot}{ending}" if dot and "/" not in ending else f"{path}-{number}"


def outermost(entries: Sequence[EntryFiles]) -> list[EntryFiles]:
    """Return the entries without those that are files of the folder of another one."""
    folders = {entry.folder for entry in entries}
    return [entry for entry in entries if folders.isdisjoint(folders_above(entry.address))]


def is_page(path: str) -> bool:
    """Return whether a file can be a page of a site."""
    return file_type(path).language in _PAGES


def is_index(path: str) -> bool:
    """Return whether a file is the page of its folder, in any language."""
    return _stem(path) in (INDEX, SECTION) and is_page(path)


def folder_of_index(path: str) -> str | None:
    """Return the folder that can be one entry with this page.

    The start page of a site, of its content or of a language has none, and neither have files of the program.
    """
    folder = path.rpartition("/")[0]
    if not is_index(path) or _is_root(folder) or _is_excluded(folder):
        return None
    parent, _slash, name = folder.rpartition("/")
    if _stem(path) == SECTION and _is_root(parent) and LANGUAGE.fullmatch(name):
        return None
    above = takewhile("content".__ne__, folder.split("/"))
    return folder if _PROGRAM.isdisjoint(above) else None


def entry_files(path: str, below: Collection[str], generator: str | None) -> EntryFiles:
    """Return the files of the entry of a page.

    Args:
        path: the path of the page, or of any other file, which is an entry alone.
        below: the paths of all files in the folder of `folder_of_index`, at any depth.
        generator: in Hugo, each other file of a folder with an `index` page belongs to it. With other generators, other
            pages are entries, and the folder is no entry.
    """
    folder = folder_of_index(path)
    alone = EntryFiles(path, None, (path,))
    if folder is None or not below:
        return alone
    entry = EntryFiles(path, folder, tuple(sorted({path, *below})))
    if _stem(path) == SECTION or generator == HUGO:
        return entry
    known = {path, *entry.translations}
    return alone if any(is_page(other) and other not in known for other in below) else entry


def move_problem(entry: EntryFiles, page: str, list_folder: ListFolder, generator: str | None) -> MoveProblem | None:
    """Return why the page of an entry cannot have another path, or None.

    Args:
        entry: the entry before the move.
        page: its new path.
        list_folder: reads a folder before the move.
        generator: the generator of the site.
    """
    if not is_page(entry.page):
        return None
    old, new = posixpath.dirname(entry.page), posixpath.dirname(page)
    if entry.folder is not None and not is_index(page):
        return MoveProblem.NEEDS_FOLDER if len(entry.files) > 1 else None
    if entry.folder is not None:
        if new.startswith(f"{entry.folder}/"):
            return MoveProblem.IN_ENTRY
        parent, _slash, name = new.rpartition("/")
        if new != entry.folder and name in list_folder(parent).names:
            return MoveProblem.EXISTS
    elif is_index(entry.page) and new != old:
        return MoveProblem.START_PAGE
    if _is_excluded(new) and not _is_excluded(old):
        return MoveProblem.NO_PAGES
    return new_page_problem(page, list_folder, generator, entry)


def new_page_problem(
    page: str, list_folder: ListFolder, generator: str | None, entry: EntryFiles | None = None
) -> MoveProblem | None:
    """Return why the site would not show a new page or other pages: an `index` page of Hugo hides those of its folder.

    `entry` are the files that receive the path, if the page exists.
    """
    if generator != HUGO or not is_page(page):
        return None
    before = entry.page if entry is not None else ""
    for folder in folders_above(page if entry is None or entry.folder is None else posixpath.dirname(page)):
        if _is_root(folder) or before.startswith(f"{folder}/"):
            break
        if list_folder(folder).index_pages - {page[len(folder) + 1 :]}:
            # Pages with the same name in other languages are the same page.
            return None if is_index(page) and folder == posixpath.dirname(page) else MoveProblem.IN_ENTRY
    if not is_index(page) or (entry is not None and (entry.folder is not None or _stem(before) == _stem(page))):
        return None
    new = posixpath.dirname(page)
    own = before.rpartition("/")[2] if posixpath.dirname(before) == new else ""
    hides = _stem(page) == INDEX and list_folder(new).pages - {own}
    return MoveProblem.OTHER_PAGES if hides else None


def folders_above(path: str) -> Iterator[str]:
    """Yield the folders above a path, the nearest first."""
    while path := posixpath.dirname(path):
        yield path


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _is_root(folder: str) -> bool:
    root, _dot, language = folder.partition(".")
    is_language = root in ROOTS and LANGUAGE.fullmatch(language) is not None
    return not folder or folder in ROOTS or is_language or folder.endswith(("/content", "/src/pages"))


def _is_excluded(folder: str) -> bool:
    return folder.partition("/")[0] in _NO_PAGES
