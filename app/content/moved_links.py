"""Relative links of a page that moves to another folder. They continue to name the same files.

A link is changed if it names an existing file of the repository. The same text can also be a URL of the built site, in
which a page is a folder: such a link stays as it is.
"""

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, unquote

from app.content.entry_files import HUGO, is_index
from app.content.filetypes import file_type
from app.content.front_matter.editor import UnsupportedEdit, edit_front_matter
from app.content.front_matter.edits import Piece, apply_pieces
from app.content.link_forms import SAFE, is_page_file, without_query
from app.content.links import is_local, is_path_value, located_links
from app.content.page_text import read_page
from app.content.site_roots import ALIASES
from app.content.text import decode
from app.content.text_code import blank_code

TEXTS = ("markdown", "mdx", "markdoc")
JEKYLL, DOCUSAURUS = "jekyll", "docusaurus"
_KINDS = ("image", "link", "html")
_IMPORT = re.compile(r"""^(?:import|export)\b[^"'\n]{0,500}["'](\.{1,2}/[^"'\n]{1,1024})["']""", re.MULTILINE)


class _Link(NamedTuple):
    url: str
    start: int
    end: int


@dataclass(frozen=True)
class PageMove:
    """A page that moves.

    Attributes:
        old, new: its paths.
        moves: the new paths of the files that move with it, by their old ones.
        generator: the generator of the site.
    """

    old: str
    new: str
    moves: Mapping[str, str]
    generator: str | None

    @property
    def can_break(self) -> bool:
        """True if the page is text, and its folder changes."""
        is_text = file_type(self.old).language in TEXTS
        return is_text and posixpath.dirname(self.old) != posixpath.dirname(self.new)

    def named(self, data: bytes) -> set[str]:
        """Return the paths that the links of the page can name as files or as URLs of the site."""
        page = read_page(self.old, data)
        if page is None:
            return set()
        links = (*(link.url for link in self._links(page.body)), *_values(page.values))
        return {path for url in links for path in (self._file(url), self._in_site(url)) if path}

    def rewritten(self, data: bytes, present: Collection[str]) -> bytes:
        """Return the page with links that lead from its new folder to the same files. Other bytes do not change.

        `present` are those of the named paths that are files.
        """
        page = read_page(self.old, data)
        if page is None:
            return data
        values = page.values or {}
        changes = {key: new for key, value in values.items() if (new := self._value(value, present)) != value}
        with suppress(UnsupportedEdit):  # The links of the text are right nevertheless.
            data = edit_front_matter(self.old, data, changes) if changes else data
        text, _encoding = decode(data)
        start = len(text or "") - len(page.body)
        pieces = [
            Piece(start + link.start, start + link.end, new)
            for link in self._links(page.body)
            if (new := self._url(link.url, present, is_path=" " in link.url)) != link.url
        ]
        if text is None or not pieces:
            return data
        return data[: len(data) - len(text.encode())] + apply_pieces(text, pieces).encode()

    def _links(self, body: str) -> Iterator[_Link]:
        """Yield the links of a text by their positions, each once."""
        text, starts = blank_code(body), set[int]()
        listed = [
            _Link(link.url, start, start + len(link.url))
            for link, start in located_links(text)
            if link.kind in _KINDS and is_local(link.url)
        ]
        if file_type(self.old).language == "mdx" or self.generator == DOCUSAURUS:
            listed += [_Link(match[1], *match.span(1)) for match in _IMPORT.finditer(text)]
        for link in listed:
            if link.start not in starts and body[link.start : link.end] == link.url:
                starts.add(link.start)
                yield link

    def _value(self, value: object, present: Collection[str]) -> object:
        if isinstance(value, Mapping):
            return {key: self._value(inner, present) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._value(inner, present) for inner in value]
        return self._url(value, present, is_path=True) if isinstance(value, str) and is_path_value(value) else value

    def _file(self, url: str) -> str:
        """Return the path that a link names from the folder of the page, or an empty text."""
        is_url = self._is_deeper and not is_page_file(url)
        return "" if is_url else _joined(posixpath.dirname(self.old), url)

    def _in_site(self, url: str) -> str:
        """Return the path that a link names as a URL of the site, if it is another one."""
        folder = posixpath.dirname(self.old) if is_index(self.old) else posixpath.splitext(self.old)[0]
        return _joined(folder, url)

    @property
    def _is_deeper(self) -> bool:
        """True if the generator reads links of this page as URLs, unless they name the file of a page."""
        if self.generator == JEKYLL:
            return "/_" in f"/{posixpath.dirname(self.old)}"
        return self.generator == HUGO and not is_index(self.old)

    def _url(self, url: str, present: Collection[str], *, is_path: bool) -> str:
        target, in_site = self._file(url), self._in_site(url)
        if target not in present or (in_site != target and in_site in present):
            return url
        old, new = (posixpath.dirname(path) or "." for path in (self.old, self.new))
        path = posixpath.relpath(self.moves.get(target, target), new)
        plain = without_query(url)
        if path == posixpath.relpath(target, old):
            return url
        parts, written = path.split("/"), plain.split("/")
        pairs = zip(reversed(parts), reversed(written), strict=False)
        same = next((n for n, (part, own) in enumerate(pairs) if part != unquote(own)), min(len(parts), len(written)))
        first = parts[: len(parts) - same]
        last = written[len(written) - same :]
        result = "/".join([*(first if is_path else [quote(part, safe=SAFE) for part in first]), *last])
        dot = "./" if plain.startswith(".") and not result.startswith("../") else ""
        return f"{dot}{result}{url[len(plain) :]}"


def _joined(folder: str, url: str) -> str:
    plain = unquote(without_query(url))
    path = posixpath.normpath(posixpath.join(folder, plain)) if plain and not plain.startswith(("/", *ALIASES)) else ""
    return "" if path.startswith("../") else path


def _values(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _values(inner)
    elif isinstance(value, str) and is_path_value(value) and is_local(value):
        yield value
