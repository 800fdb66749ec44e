"""The form in which the pages of a site link to each other, and the link to a page in this form.

A site uses references of its generator (`{{< ref "/posts/fog.md" >}}`), paths of files (`../fog.md`), or addresses of
the built site (`/posts/fog/`). The links of existing pages show which form it is.
"""

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from urllib.parse import quote, unquote

from app.content.filetypes import endings_of
from app.content.links import find_links

MAX_CHARACTERS = 32 * 1024
"""Characters of a text whose links are read."""

_PAGE_ENDINGS = tuple(
    ending for name in ("markdown", "mdx", "markdoc", "asciidoc", "restructuredtext") for ending in endings_of(name)
)
_HUGO = re.compile(r"""\{\{([<%])\s*(ref|relref)\s+["'`]?([^"'`\s>%]{1,500})""")
_JEKYLL = re.compile(r"\{%-?\s*(link|post_url)\s+([^\s%]{1,500})")
_INDEX = re.compile(r"/(?:_?index|readme)$", re.IGNORECASE)
SAFE = "/@:+,;=!$&'*~._-"
"""The characters that a path in a link contains as they are."""


class LinkForm(StrEnum):
    """The form of a link to a page of the site."""

    REF = "ref"
    RELREF = "relref"
    LINK = "link"
    POST_URL = "post_url"
    FILE = "file"
    SITE = "site"


@dataclass(frozen=True)
class LinkStyle:
    """A form with its details.

    Hugo references have the delimiter `<` or `%`, a leading slash and the ending of the file or not. Paths of files
    start with `./` or not. An address of the site ends with `end`: a slash, `.html` or nothing. The pages in the folder
    `root` have addresses that start with `prefix`; None is an unknown folder.
    """

    form: LinkForm
    delimiter: str = "<"
    has_slash: bool = True
    has_ending: bool = True
    has_dot: bool = False
    prefix: str = ""
    root: str | None = None
    end: str = "/"


@dataclass(frozen=True)
class LinkTarget:
    """A page of the site: its file, and its address in the built site without the prefix of the style.

    `is_written`: the front matter of the page contains the address, which is complete.
    """

    path: str
    address: str
    is_written: bool = False


def is_page_file(url: str) -> bool:
    """Return whether a link names the file of a page."""
    return without_query(url).lower().endswith(_PAGE_ENDINGS)


def without_query(url: str) -> str:
    """Return an address without its query and fragment."""
    return url.partition("#")[0].partition("?")[0]


def link_style(texts: Sequence[str], default: LinkForm, paths: Iterable[str] = ()) -> LinkStyle:
    """Return the most frequent style of the links of the first text that has some, else the default.

    `paths` are files of pages. An address that ends as one of them shows the folder and the prefix of addresses.
    """
    shown = [text[:MAX_CHARACTERS] for text in texts]
    counts = (Counter(_styles(text)) for text in shown)
    style = next((count.most_common(1)[0][0] for count in counts if count), LinkStyle(default))
    if style.form is not LinkForm.SITE:
        return style
    known = defaultdict[str, list[list[str]]](list)
    for path in paths:
        parts = _INDEX.sub("", posixpath.splitext(path)[0]).split("/")
        known[parts[-1].lower()].append(parts)
    addresses = (_address(url) for text in shown for url in _urls(text))
    starts = Counter(start for url in addresses if url and (start := _start_of(url, known)) is not None)
    if not starts:
        return style
    [((prefix, root), _number)] = starts.most_common(1)
    return replace(style, prefix=prefix, root=root)


def _styles(text: str) -> Iterator[LinkStyle]:
    for match in _HUGO.finditer(text):
        target = match[3]
        has_ending = is_page_file(target)
        yield LinkStyle(LinkForm(match[2]), match[1], target.startswith("/"), has_ending)
    for match in _JEKYLL.finditer(text):
        yield LinkStyle(LinkForm(match[1]))
    for url in _urls(text):
        if is_page_file(url) and not url.startswith("/"):
            yield LinkStyle(LinkForm.FILE, has_dot=url.startswith("./"))
        elif _address(url):
            end = "/" if url.endswith("/") else ".html" if url.endswith(".html") else ""
            yield LinkStyle(LinkForm.SITE, end=end)


def _urls(text: str) -> Iterator[str]:
    """Yield the targets of links of Markdown without query and fragment."""
    for link in find_links(text, {}):
        url = without_query(link.url)
        if link.kind == "link" and url and "{" not in url and not url.startswith("@"):
            yield url


def _address(url: str) -> str:
    """Return the path of an address of the site without slashes and ending, or an empty text for other targets."""
    path, ending = posixpath.splitext(url)
    if not url.startswith("/") or ending not in ("", ".html"):
        return ""
    return unquote(path if ending else url).strip("/")


def _start_of(address: str, known: Mapping[str, Sequence[Sequence[str]]]) -> tuple[str, str] | None:
    """Return the start of an address, and the start of the path of the known page with the longest equal end."""
    parts, best, size = address.lower().split("/"), None, 0
    for path in known.get(parts[-1], ()):
        pairs = zip(reversed(parts), reversed(path), strict=False)
        length = next((n for n, (a, b) in enumerate(pairs) if a != b.lower()), min(len(parts), len(path)))
        if length > size:
            size = length
            best = "".join(f"/{part}" for part in address.split("/")[:-length]), "/".join(path[:-length])
    return best


def link_to(target: LinkTarget, style: LinkStyle, *, source: str, root: str) -> str:
    """Return the link from the file `source` to a page. `root` is the folder of the content of the site."""
    below = target.path.removeprefix(f"{root}/") if root else target.path
    if style.form in (LinkForm.REF, LinkForm.RELREF):
        name = below if style.has_ending else _INDEX.sub("", f"/{posixpath.splitext(below)[0]}").lstrip("/")
        slash = "/" if style.has_slash else ""
        close = ">" if style.delimiter == "<" else "%"
        return f'{{{{{style.delimiter} {style.form} "{slash}{name}" {close}}}}}'
    _, is_post, post = f"/{below}".rpartition("/_posts/")
    if style.form is LinkForm.POST_URL and is_post:
        return f"{{% post_url {posixpath.splitext(post)[0]} %}}"
    if style.form in (LinkForm.LINK, LinkForm.POST_URL):
        return f"{{% link {below} %}}"
    if style.form is LinkForm.FILE:
        path = quote(posixpath.relpath(target.path, posixpath.dirname(source) or "."), safe=SAFE)
        return f"./{path}" if style.has_dot and not path.startswith(".") else path
    if target.is_written:
        return target.address
    address = target.address.strip("/").removesuffix(".html")
    if not address:
        return f"{style.prefix}/"
    # Posts of Jekyll have the ending in their addresses.
    end = ".html" if target.address.endswith(".html") else style.end
    return f"{style.prefix}/{address}{end}"
