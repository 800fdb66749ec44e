"""Links of a text to pages that do not exist on its branch.

Without building the site, an address can be checked only by names. A link is reported if nothing in the repository
explains it: no file or folder with its last name, no page with this address in its front matter, and no usual list that
generators create. A path of a file must name the file.
"""

import posixpath
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from app.content.field_values import text_key
from app.content.link_forms import is_page_file, without_query
from app.content.links import INDEXES, Link, can_resolve_to, find_links, is_local, key_of, link_keys
from app.content.site_roots import SiteRoots
from app.content.text_code import blank_code
from app.content.words import fold
from app.extensions import db
from app.models.content_search import ContentField
from app.models.project import Project
from app.models.project_content import ContentFile, ContentIndex
from app.resources.project_content.images import site_roots
from app.resources.project_content.tree.folder_listing import existing_files

MAX_FILES, MAX_CHARACTERS, MAX_CHECKED = 100_000, 256 * 1024, 200
"""The largest branch whose links are checked, and the checked characters and links of a text."""

PATHS_PER_STEP = 5_000
_GENERATED = frozenset(
    (
        *("api", "archive", "archives", "author", "authors", "categories", "category", "feed", "login", "page", "rss"),
        *("search", "series", "sitemap", "tag", "tags", "topics"),
    )
)
"""First names of addresses at which sites have pages without a file."""

_LANGUAGE = re.compile(r"[a-z]{2}(?:-[a-z]{2,4})?", re.IGNORECASE)
_DATED = re.compile(r"\d{4}-\d\d-\d\d-(.+)")
_ALIASES = ("url", "permalink", "slug", "id", "aliases", "aliases.*", "redirect_from", "redirect_from.*")


class _Names(NamedTuple):
    """The paths of files by the keys of links to them, and the folded names of folders."""

    paths: dict[str, list[str]]
    folders: set[str]


def missing_links(project: Project, index: ContentIndex | None, path: str, body: str) -> list[str]:
    """Return the links of a text of the file `path` that lead to no page of the branch, as they are written."""
    if index is None or index.generation == 0 or index.files > MAX_FILES:
        return []
    links = find_links(blank_code(body[:MAX_CHARACTERS]), {})
    links = [link for link in links if _is_to_page(link)][:MAX_CHECKED]
    exact = {link: _file_of(path, link.url) for link in links if is_page_file(link.url)}
    present = existing_files(index, {file for file in exact.values() if file})
    links = [link for link in links if exact.get(link) not in present]
    if not links:
        return []
    names = _names(index, {key_of(_plain(link.url)) for link in links})
    site = site_roots(project, index)
    absent = [link for link in links if not _may_exist(path, link, names, site)]
    known = _aliases(project, absent)
    return [link.url for link in absent if known.isdisjoint(_alias_keys(link.url))]


def _is_to_page(link: Link) -> bool:
    """Return whether a link leads to a page, and its address is written completely."""
    url = _plain(link.url)
    if link.kind not in ("link", "html", "reference") or not url or re.search(r"[{}<>$]", url):
        return False
    if not is_local(url) or (url[0] in "@~" and not is_page_file(url)):
        return False
    if is_page_file(url) or link.kind == "reference":
        return True
    # A plain name is often the key of an extension of Markdown.
    return "/" in url and posixpath.splitext(url.rstrip("/").rpartition("/")[2])[1] in ("", ".html")


def _plain(url: str) -> str:
    """Return the path of an address. `@site` is the root of a site of Docusaurus."""
    return without_query(url).removeprefix("@site")


def _file_of(source: str, url: str) -> str:
    """Return the file that a relative path names, or an empty text."""
    plain = _plain(url)
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), plain))
    return "" if plain.startswith("/") or path.startswith("../") else path


def _names(index: ContentIndex, keys: Iterable[str]) -> _Names:
    """Read the paths of the branch, and return those with one of some keys."""
    searched, paths, folders = set(keys), defaultdict[str, list[str]](list), set[str]()
    file = ContentFile
    statement = sa.select(file.path).where(file.index_id == index.id, file.generation == index.generation)
    for part in db.session.scalars(statement).partitions(PATHS_PER_STEP):
        time.sleep(0)  # yields to other requests
        for path in part:
            folder, _, name = path.rpartition("/")
            folders.add(folder)
            stem = (name.rpartition(".")[0] or name).lower()
            # Most files have one key, which is their name.
            own = link_keys(path) if stem in INDEXES or not path.isascii() else [stem]
            dated = _DATED.fullmatch(stem)
            for key in [*own, fold(dated[1])] if dated is not None else own:
                if key in searched:
                    paths[key].append(path)
    return _Names(paths, {fold(name) for folder in folders for name in folder.split("/")})


def _may_exist(source: str, link: Link, names: _Names, site: SiteRoots) -> bool:
    url = _plain(link.url)
    key = key_of(url)
    targets = names.paths.get(key, [])
    if is_page_file(url) and link.kind != "reference":
        # Docusaurus also resolves paths from the root of the documentation.
        ends = f"/{url}"
        return any(
            can_resolve_to(source, Link(url, link.kind), target, site) or f"/{target}".endswith(ends)
            for target in targets
        )
    if targets or key in names.folders or key in ("", ".", ".."):
        return True
    if link.kind == "reference":
        return False
    parts = [part for part in fold(url).split("/") if part not in ("", ".", "..")]
    first = parts[1] if len(parts) > 1 and _LANGUAGE.fullmatch(parts[0]) else parts[0]
    return first in _GENERATED or (len(parts) > 1 and first not in names.folders)


def _alias_keys(url: str) -> set[str]:
    """Return the keys of values of front matter that give a page this address."""
    path = _plain(url).removesuffix(".html")
    bare = path.strip("/")
    return {text_key(text) for text in (path, bare, f"/{bare}", f"/{bare}/", f"{bare}/", bare.rpartition("/")[2])}


def _aliases(project: Project, links: Sequence[Link]) -> set[str]:
    """Return those keys that the front matter of a page has."""
    keys = {key for link in links for key in _alias_keys(link.url)}
    if not keys:
        return set()
    field = ContentField
    statement = sa.select(field.key).where(
        field.project_id == project.id, field.name.in_(_ALIASES), field.key.in_(sorted(keys))
    )
    return set(db.session.scalars(statement))
