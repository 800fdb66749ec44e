"""Links in a text, and the files of a site to which each may resolve.

A link refers to the built site, so that one target has many names: `../about.md`, `/about/`, `about.html`, or
`/images/logo.png` for `static/images/logo.png`. All names of a target have the same key.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from app.content.filetypes import file_type
from app.content.site_roots import ALIASES, MediaFolder, SiteRoots
from app.content.words import fold

MAX_LINKS, MAX_URL = 500, 1_024
_DESTINATION = r"(?:<([^<>\n]{1,1024})>|([^\s<>()]+(?:\([^\s()]*\)[^\s<>()]*)*))"
# A pattern is searched only in texts that contain its literal, because a search for text is much faster.
_PATTERNS = (
    ("image", "![", re.compile(rf"!\[[^\]\n]{{0,500}}\]\(\s*{_DESTINATION}")),
    (
        "link",
        "](",
        re.compile(
            r"(?<!!)\[(?:!\[[^\]\n]{0,500}\]\([^)\n]{0,1024}\)|[^\[\]\n]){0,500}+\]"
            rf"\(\s*{_DESTINATION}"
        ),
    ),
    ("link", "]:", re.compile(r"^[ ]{0,3}\[[^\]\n]{1,500}\]:[ \t]*(?:<([^<>\n]{1,1024})>|([^\s<>]+))", re.MULTILINE)),
    ("html", "=", re.compile(r"""\b(?:href|src|poster|data-src)\s*=\s*["']([^"'\n]{1,1024})["']""", re.IGNORECASE)),
    ("wiki", "[[", re.compile(r"!?\[\[([^\]|#\n]{1,500})")),
    ("reference", "{{", re.compile(r"""\{\{[<%]\s*(?:rel)?ref\s+["']?([^"'\s>%]{1,1024})""")),
    ("reference", "{%", re.compile(r"""\{%-?\s*(?:link|post_url)\s+([^\s%]{1,1024})""")),
    (
        "media",
        "{{",
        re.compile(r"""\{\{[<%]\s*(?:figure|img|image|video)\b[^>%]{0,500}?\bsrc\s*=\s*["']([^"'\n]{1,1024})["']"""),
    ),
    ("style", "(", re.compile(r"""url\(\s*["']?([^"')\s]{1,1024})""")),
)
_MEDIA_TYPES = ("image/", "video/", "audio/", "font/", "application/pdf")
_PAGES = frozenset(
    (
        "markdown",
        "mdx",
        "markdoc",
        "html",
        "astro",
        "nunjucks",
        "liquid",
        "asciidoc",
        "restructuredtext",
        "org",
        "pug",
        "haml",
        "webc",
        "svelte",
        "vue",
        "notebook",
    )
)
INDEXES = frozenset(("index", "_index", "readme", "+page"))
_ROOTS = frozenset(
    (
        "",
        "content",
        "static",
        "public",
        "assets",
        "src",
        "src/pages",
        "src/content",
        "src/assets",
        "src/static",
        "pages",
        "docs",
        "source",
        "app",
        "site",
        "web",
        "www",
        "_posts",
        "src/content/docs",
        "content/docs",
    )
)
_LANGUAGE = re.compile(r"[a-z]{2}(-[a-z]{2,4})?", re.IGNORECASE)


class Link(NamedTuple):
    """The target of a link as written, and the notation."""

    url: str
    kind: str


def find_links(body: str, values: Mapping[str, object]) -> list[Link]:
    """Return the links within the site in a text and its front matter, without duplicates, at most 500."""
    links: dict[Link, None] = {}
    for link in (*_in_text(body), *_in_values(values)):
        if is_local(link.url):
            links.setdefault(link)
        if len(links) == MAX_LINKS:
            break
    return list(links)


def located_links(body: str) -> Iterator[tuple[Link, int]]:
    """Yield the links of a text with the positions of their targets."""
    for kind, literal, pattern in _PATTERNS:
        for match in pattern.finditer(body) if literal in body else ():
            group = match.lastindex or 1
            url = str(match[group])
            yield Link(url.strip()[:MAX_URL], kind), match.start(group) + len(url) - len(url.lstrip())


def _in_text(body: str) -> Iterator[Link]:
    return (link for link, _start in located_links(body))


def _in_values(value: object) -> Iterator[Link]:
    """Yield values that look like paths."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _in_values(inner)
    elif isinstance(value, str) and is_path_value(value.strip()):
        yield Link(value.strip(), "field")


def is_path_value(value: str) -> bool:
    """Return whether a value is the path of an image or another medium, or starts as a path and has no spaces."""
    if len(value) > MAX_URL or "\n" in value:
        return False
    return _is_media(value) or (value.startswith(("/", "./", "../")) and value.split() == [value])


def _is_media(path: str) -> bool:
    return (file_type(path).mime or "").startswith(_MEDIA_TYPES)


def is_local(url: str) -> bool:
    """Return whether a link stays on its site and is not only a fragment."""
    return bool(url) and not url.startswith(("#", "//", "?")) and not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", url)


def key_of(url: str) -> str:
    """Return the key of a link: the normalized last name of its target."""
    return _stem(_path_of(url).rstrip("/").rpartition("/")[2])


def link_keys(path: str) -> list[str]:
    """Return the keys of links to a file: its own name, and for an index file also the name of its folder."""
    folder, _, name = path.rpartition("/")
    own = _stem(name)
    return [own, _stem(folder.rpartition("/")[2])] if own in INDEXES else [own]


def can_resolve_to(source: str, link: Link, target: str, site: SiteRoots) -> bool:
    """Return whether a link in the file `source` may resolve to the file `target`."""
    url = _path_of(link.url)
    if link.kind == "wiki" and "/" not in url:
        return _stem(target.rpartition("/")[2]) == _stem(url)
    names = _all_names(target, site.published(source))
    return any(name in names for name in _candidates(source, url, link.kind))


def _candidates(source: str, url: str, kind: str) -> Iterator[str]:
    """Yield the paths in the repository or on the site to which a link may refer."""
    plain = url.lstrip("/")
    if url.startswith(("/", *ALIASES)) or kind in ("reference", "wiki", "field", "media", "html"):
        yield from _both(plain)
    if not url.startswith("/"):
        for base in {posixpath.dirname(source), _page(source)}:
            yield from _both(posixpath.join(base, plain))


def _both(name: str) -> Iterator[str]:
    normal = posixpath.normpath(name)
    if normal != ".." and not normal.startswith("../"):
        yield fold(normal)
        yield fold(_page(normal))


@lru_cache(maxsize=1_000)
def _all_names(target: str, folders: tuple[MediaFolder, ...]) -> set[str]:
    """Return the names of a file in the repository and at the addresses of some folders."""
    addresses = (folder.url(target) for folder in folders)
    paths = {target, *(address.lstrip("/") for address in addresses if address is not None)}
    return {name for path in paths for name in _names(path)}


def _names(target: str) -> set[str]:
    """Return the path and the page of a file, relative to every possible root below the folder of the site."""
    names = set()
    for whole in (target, *_pages_of(target)):
        names.add(fold(whole) or ".")
        parts = whole.split("/")
        for depth in range(1, min(4, len(parts)) + 1):
            root, inner = "/".join(parts[:depth]), "/".join(parts[depth:])
            above, _, last = root.rpartition("/")
            if root in _ROOTS or (above in _ROOTS and _LANGUAGE.fullmatch(last)):
                names.add(fold(inner) or ".")
    return names


def _pages_of(path: str) -> Iterator[str]:
    """Yield the URL paths of a page. With Eleventy, a page that has the name of its folder has its address, too."""
    yield (page := _page(path))
    folder, _, name = page.rpartition("/")
    if page != path and name and name == folder.rpartition("/")[2]:
        yield folder


def _page(path: str) -> str:
    """Return the URL path of a page, without its ending and without `index`."""
    language = file_type(path).language
    bare = posixpath.splitext(path)[0] if language in _PAGES else path
    folder, _, name = bare.rpartition("/")
    return folder if name.lower() in INDEXES else bare


def _path_of(url: str) -> str:
    try:
        path = urlsplit(url).path
    except ValueError:
        path = url
    # An unescaped `#` or `?` in the name of an image. A fragment has no ending of a file.
    return unquote(url if _is_media(url) and not _is_media(path) else path)


def _stem(name: str) -> str:
    return fold(posixpath.splitext(name)[0] or name)
