"""The form in which the pages of a site link to each other, and the link to a page in this form.

A site uses references of its generator (`{{< ref "/posts/fog.md" >}}`), paths of files (`../fog.md`), or addresses of
the built site (`/posts/fog/`). The links of existing pages show which form it is.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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
_INDEX = re.compile(r"/_?index$")
_SAFE = "/@:+,;=!$&'*~._-"


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
    start with `./` or not. An address of the site follows `prefix` and ends with `end`: a slash, `.html` or nothing.
    """

    form: LinkForm
    delimiter: str = "<"
    has_slash: bool = True
    has_ending: bool = True
    has_dot: bool = False
    prefix: str = ""
    end: str = "/"


@dataclass(frozen=True)
class LinkTarget:
    """A page of the site: its file, and its likely address in the built site."""

    path: str
    address: str


def is_page_file(url: str) -> bool:
    """Return whether a link names the file of a page."""
    return without_query(url).lower().endswith(_PAGE_ENDINGS)


def without_query(url: str) -> str:
    """Return an address without its query and fragment."""
    return url.partition("#")[0].partition("?")[0]


def link_style(texts: Sequence[str], default: LinkForm, pages: Iterable[LinkTarget] = ()) -> LinkStyle:
    """Return the most frequent style of the links of the first text that has some, else the default.

    `pages` are known pages. An address of one of them with more before it shows the prefix of all addresses.
    """
    known = {page.address.strip("/") for page in pages} - {""}
    for text in texts:
        styles = Counter(_styles(text[:MAX_CHARACTERS], known))
        if styles:
            return styles.most_common(1)[0][0]
    return LinkStyle(default)


def _styles(text: str, known: set[str]) -> Iterator[LinkStyle]:
    for match in _HUGO.finditer(text):
        target = match[3]
        has_ending = is_page_file(target)
        yield LinkStyle(LinkForm(match[2]), match[1], target.startswith("/"), has_ending)
    for match in _JEKYLL.finditer(text):
        yield LinkStyle(LinkForm(match[1]))
    for link in find_links(text, {}):
        url = without_query(link.url)
        if link.kind != "link" or not url or "{" in url or url.startswith("@"):
            continue
        if is_page_file(url) and not url.startswith("/"):
            yield LinkStyle(LinkForm.FILE, has_dot=url.startswith("./"))
        elif url.startswith("/") and posixpath.splitext(url)[1] in ("", ".html") and len(url) > 1:
            end = "/" if url.endswith("/") else ".html" if url.endswith(".html") else ""
            yield LinkStyle(LinkForm.SITE, prefix=_prefix(unquote(url), known), end=end)


def _prefix(url: str, known: set[str]) -> str:
    """Return the part of an address before that of a known page, or an empty text."""
    parts = url.removesuffix(".html").strip("/").split("/")
    if "/".join(parts) in known:
        return ""
    at = next((at for at in range(1, len(parts)) if "/".join(parts[at:]) in known), 0)
    return "".join(f"/{part}" for part in parts[:at])


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
        path = quote(posixpath.relpath(target.path, posixpath.dirname(source) or "."), safe=_SAFE)
        return f"./{path}" if style.has_dot and not path.startswith(".") else path
    address = target.address.strip("/").removesuffix(".html")
    if not address:
        return f"{style.prefix}/"
    # Posts of Jekyll have the ending in their addresses.
    end = ".html" if target.address.endswith(".html") else style.end
    return f"{style.prefix}/{address}{end}"
