"""Paths of pages in the built site."""

import re
from collections.abc import Mapping
from urllib.parse import quote

from app.content.entry_files import ELEVENTY
from app.content.schema.inferred import ROOTS

PAGES = re.compile(r"\.(?:mdx?|markdown|mdoc|html?|adoc|asciidoc|rst|org|njk|liquid)$", re.IGNORECASE)
_DATED = re.compile(r"_posts/(?:.*/)?(\d{4})-(\d\d)-(\d\d)-([^/]+)")
_INDEX_NAMES = ("index", "_index", "readme")
STARLIGHT = "/src/content/docs/"
"""The folder of the collection whose pages Starlight serves at the root of the site."""


def path_in_site(
    path: str, values: Mapping[str, object], content_root: str | None, *, generator: str | None = None
) -> str:
    """Return the likely path of a file in the built site, `/` for a file that is no page.

    Eleventy omits the name of a page that is the name of its folder.
    """
    for name in ("url", "permalink"):
        own = values.get(name)
        if isinstance(own, str) and own.startswith("/") and not own.startswith("//") and ":" not in own:
            return quote(own)
    if not PAGES.search(path):
        return "/"
    stem = PAGES.sub("", path)
    dated = _DATED.search(stem)
    if dated is not None:
        return quote(f"/{dated[1]}/{dated[2]}/{dated[3]}/{dated[4]}.html")
    above, is_starlight, _ = f"/{stem}".partition(STARLIGHT)
    own = [content_root.strip("/")] if content_root else []
    roots = [*own, *([f"{above}{STARLIGHT}".strip("/")] if is_starlight else []), *ROOTS]
    root = next((root for root in roots if stem.startswith(f"{root}/")), "")
    folder, _slash, name = (stem[len(root) + 1 :] if root else stem).rpartition("/")
    slug = values.get("slug")
    if isinstance(slug, str) and slug:
        # The slug of `name/index.md` stands for its folder.
        folder = folder.rpartition("/")[0] if name.casefold() == "index" else folder
        name = slug
    is_index = name.casefold() in _INDEX_NAMES or (generator == ELEVENTY and name == folder.rpartition("/")[2])
    segments = [folder, "" if is_index else name]
    address = "/".join(segment for segment in segments if segment)
    return quote("/" + re.sub(r"\s+", "-", address).lower() + ("/" if address else ""))
