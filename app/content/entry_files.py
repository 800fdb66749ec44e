"""Which files belong to an entry: a page alone, or a page with the files of its folder.

A page with the name `index` (a leaf bundle of Hugo, `{{slug}}/index` of Decap, a folder of Eleventy or Astro) is its
folder, and so is a section with the name `_index`. Eleventy omits the name of a page that is the name of its
folder from the address, so that `pier/pier.md` is its folder, too.
"""

import posixpath
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import takewhile

from app.content.filetypes import file_type
from app.content.image_types import is_image
from app.content.schema.inferred import IGNORED, LANGUAGE, ROOTS

HUGO, ELEVENTY = "hugo", "eleventy"
INDEX, SECTION = "index", "_index"
_PAGES = frozenset(
    (
        *("markdown", "mdx", "markdoc", "html", "asciidoc", "restructuredtext", "org", "textile"),
        *("astro", "vue", "svelte", "nunjucks", "liquid", "pug", "webc", "handlebars", "ejs"),
    )
)
ADDRESS_FIELDS = ("url", "permalink", "slug", "id")
"""The fields of a page by which a generator names its address or the page."""

_TEXTS = ("markdown", "mdx", "markdoc")
"""Pages that can have the name of their folder. A template with this name can be a component with its files."""

_DATA_FILE, _CODE_PAGE = ".11tydata.", ".11ty."
"""The end of the name of a file of Eleventy with the data of a folder, and of a page that is code."""

_OWN_NAME = "/*"
"""The start of what follows the address of a page with the name of its folder. The address replaces the `*`."""

_PLACEHOLDER = re.compile("[{:]")

_NO_PAGES = IGNORED | {"data", "_data", "i18n"}
"""Folders at the root of a site whose files are no pages."""

_PROGRAM = frozenset(("layouts", "themes", "static", "archetypes", "node_modules", "_layouts", "_includes"))
"""Folders above the content, at any level, whose pages do not own the files below them."""


@dataclass(frozen=True)
class FolderNames:
    """The names of the files and folders directly in a folder. Many new paths are compared with them."""

    files: frozenset[str]
    folders: frozenset[str] = frozenset()

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of the files and of the folders."""
        return self.files | self.folders

    @cached_property
    def index_pages(self) -> frozenset[str]:
        """The pages with the name `index`."""
        return frozenset(name for name in self.files if name.startswith(f"{INDEX}.") and is_page(name))

    @cached_property
    def pages(self) -> frozenset[str]:
        """The pages, and the folders, which can have pages."""
        return self.folders.union(filter(is_page, self.files))


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
        own, has_own_name = self.page.rpartition("/")[0], _own_ending(self.page) is not None
        same = (p for p in self.files if p != self.page and p.rpartition("/")[0] == own)
        return tuple(p for p in same if (_own_ending(p) is not None if has_own_name else is_index(p)))

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

    @property
    def copied(self) -> tuple[str, ...]:
        """The attachments that a copy of the page has: of a section those of its folder, not those of other pages."""
        if _stem(self.page) != SECTION:
            return self.attachments
        return tuple(path for path in self.attachments if posixpath.dirname(path) == self.folder)

    @property
    def has_only_images(self) -> bool:
        """True if all files that are no pages are images."""
        return all(map(is_image, self.attachments))

    def deleted_with(self, selected: frozenset[str]) -> "EntryFiles":
        """Return what is deleted with the page and other selected pages.

        While the entry remains in another language, this is the page alone.
        """
        return self if selected.issuperset(self.translations) else EntryFiles(self.page, None, (self.page,))

    def page_at(self, address: str) -> str:
        """Return the path of the page if the entry has another address. The address may also be that of a page."""
        name = self.page.rpartition("/")[2]
        if self.folder is None or self._is_own(address) or address.endswith(name[name.rindex(".") :]):
            return address
        ending = _own_ending(self.page)
        return f"{address}/{name}" if ending is None else f"{address}/{posixpath.basename(address)}{ending}"

    def page_in(self, folder: str) -> str:
        """Return the path of the page if the entry is moved to a folder."""
        name = self.address.rpartition("/")[2]
        return self.page_at(f"{folder}/{name}" if folder else name)

    def moves_to(self, page: str) -> Mapping[str, str]:
        """Return the new path of each file if the page has another path."""
        new = posixpath.dirname(page)
        if not self.has_folder_at(page) or new == self.folder:
            return {self.page: page}
        moved = {path: f"{new}/{name}" for path, name in self.names_in(new, self.files).items()}
        return moved | {self.page: page}

    def has_folder_at(self, page: str) -> bool:
        """Return whether the entry is a folder, and remains one if its page has another path."""
        return self.folder is not None and self._is_own(page)

    def names_in(self, folder: str, files: Collection[str]) -> Mapping[str, str]:
        """Return the paths of files of the entry below its folder if the entry has another folder.

        Eleventy finds the data of a folder by its name: `pier/pier.11tydata.js`, and the page `pier/pier.md`.
        """
        start = len(self.folder or "") + 1
        old, new = posixpath.basename(self.folder or ""), posixpath.basename(folder)
        names = {path: path[start:] for path in files}
        return {path: f"{new}{name[len(old) :]}" if self._is_named(old, name) else name for path, name in names.items()}

    def _is_own(self, path: str) -> bool:
        """Return whether a path can be that of the page of the folder, in any language."""
        return is_index(path) or (_own_ending(self.page) is not None and _own_ending(path) is not None)

    def _is_named(self, folder: str, name: str) -> bool:
        """Return whether a file of the folder has its name, and receives the new one."""
        is_own = _own_ending(self.page) is not None and (
            name == f"{folder}.json" or _own_ending(f"{folder}/{name}") is not None
        )
        return "/" not in name and (is_own or name.startswith(f"{folder}{_DATA_FILE}"))


def address_parts(path: str, generator: str | None = None) -> tuple[str, str, str]:
    """Return the folder of a page, its address, and what follows: `content/posts`, `tide` and `/index.md`.

    Of a page that has the name of its folder, `/*.md` follows, because the name is the address again.
    """
    own = folder_of_index(path, generator) or path
    named = _own_ending(path) if own != path else None
    start = own.rfind("/") + 1
    ending = re.search(rf"(?:\.{LANGUAGE.pattern})?\.\w+$", own[start + 1 :]) if own == path else None
    end = len(own) if ending is None else start + 1 + ending.start()
    return path[: start - 1] if start else "", path[start:end], path[end:] if named is None else f"{_OWN_NAME}{named}"


def path_of_parts(start: str, name: str, end: str) -> str:
    """Return the path of a page with these parts, as `address_parts` returns them."""
    return f"{start}/{name}{end.replace(_OWN_NAME, f'/{posixpath.basename(name)}', 1)}".strip("/")


def copy_path(path: str, number: int, generator: str | None = None) -> str:
    """Return the path of a copy of an entry: its folder, else its page, has a number."""
    folder = folder_of_index(path, generator)
    if folder is not None:
        ending = _own_ending(path)
        name = path[len(folder) :] if ending is None else f"/{posixpath.basename(folder)}-{number}{ending}"
        return f"{folder}-{number}{name}"
    start, dot, ending = path.rpartition(".")
    return f"{start}-{number}{dot}{ending}" if dot and "/" not in ending else f"{path}-{number}"


def own_addresses(values: Mapping[str, object], number: int) -> dict[str, str]:
    """Return other values for the fields of a page that must be unique in a site, for its copy with this number.

    A value with a placeholder depends on other values of the page.
    """
    texts = {name: value for name in ADDRESS_FIELDS if isinstance(value := values.get(name), str)}
    plain = {name: value for name, value in texts.items() if value.strip("/") and not _PLACEHOLDER.search(value)}
    return {name: _numbered(value, number) for name, value in plain.items()}


def _numbered(address: str, number: int) -> str:
    """Return an address whose last part has a number, which precedes a slash or `.html` at the end."""
    start = address.rstrip("/").removesuffix(".html").removesuffix(".htm")
    return f"{start}-{number}{address[len(start) :]}"


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


def is_section(path: str) -> bool:
    """Return whether a file is the page of a folder with other pages, in any language."""
    return _stem(path) == SECTION and is_page(path)


def folder_of_index(path: str, generator: str | None = None) -> str | None:
    """Return the folder that can be one entry with this page.

    The start page of a site, of its content or of a language has none, and neither have files of the program.
    With Eleventy, a page can have the name of its folder.
    """
    folder = path.rpartition("/")[0]
    is_own = is_index(path) or (generator == ELEVENTY and _own_ending(path) is not None)
    if not is_own or _is_root(folder) or _is_excluded(folder):
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
    folder = folder_of_index(path, generator)
    alone = EntryFiles(path, None, (path,))
    if folder is None or not below:
        return alone
    entry = EntryFiles(path, folder, tuple(sorted({path, *below})))
    if _stem(path) == SECTION or generator == HUGO:
        return entry
    known = {path, *entry.translations}
    others = (other for other in below if other not in known)
    return alone if any(is_page(other) or _CODE_PAGE in other for other in others) else entry


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
    if entry.folder is not None and not entry.has_folder_at(page):
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


def _own_ending(path: str) -> str | None:
    """Return the ending of a text that has the name of its folder, with the language: `.de.md` of `pier/pier.de.md`."""
    folder, _slash, name = path.rpartition("/")
    own = posixpath.basename(folder)
    ending = name[len(own) :]
    is_own = own and name.startswith(own) and re.fullmatch(rf"(?:\.{LANGUAGE.pattern})?\.\w+", ending)
    return ending if is_own and file_type(path).language in _TEXTS else None


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _is_root(folder: str) -> bool:
    root, _dot, language = folder.partition(".")
    is_language = root in ROOTS and LANGUAGE.fullmatch(language) is not None
    return not folder or folder in ROOTS or is_language or folder.endswith(("/content", "/src/pages"))


def _is_excluded(folder: str) -> bool:
    return folder.partition("/")[0] in _NO_PAGES
