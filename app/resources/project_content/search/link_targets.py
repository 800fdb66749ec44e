"""Pages to which a page can link, and the links to them in the form of the site."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.content.entry_filters import MAX_FILTERS, EntryFilter, Operator
from app.content.link_forms import LinkForm, LinkStyle, LinkTarget, link_style, link_to
from app.content.schema.collection_groups import language_code
from app.content.schema.relations import title_of
from app.content.site_paths import PAGES, path_in_site
from app.models.project import Generator, Project
from app.models.project_content import ContentIndex
from app.resources.project_content.entries.entry_conditions import FileSelection
from app.resources.project_content.entries.entry_pages import EntryQuery, entries
from app.resources.project_content.search.references import texts_of
from app.resources.project_content.tree.folder_listing import titles_of

MAX_RESULTS, MAX_ENTRIES, MAX_EXAMPLES = 20, 200, 20
"""Shown pages, pages that match a word, and pages whose links show the form of the site."""

FORMS: dict[str | None, LinkForm] = {
    Generator.HUGO: LinkForm.REF,
    Generator.JEKYLL: LinkForm.LINK,
    **dict.fromkeys((Generator.DOCUSAURUS, Generator.MKDOCS, Generator.VITEPRESS, Generator.SPHINX), LinkForm.FILE),
    None: LinkForm.FILE,
}
"""The forms of links that generators document. With the others, a link is the address of the page in the site."""

ADDRESS_FIELDS = ("url", "permalink", "slug")


@dataclass(frozen=True)
class LinkedPage:
    """A page to which a link can lead, and the address of the link."""

    path: str
    title: str
    url: str


def pages_to_link(project: Project, index: ContentIndex | None, source: str, text: str) -> list[LinkedPage]:
    """Return the pages whose title or file name contains the words of a text, without one those of the same folder.

    Their links have the form that the links of `source` and of its neighbours have.
    """
    folder = source.rpartition("/")[0]
    siblings = _entries(project, index, EntryQuery(folder=folder or None, fields=ADDRESS_FIELDS, limit=MAX_ENTRIES))
    paths = [sibling["path"] for sibling in siblings]
    texts = texts_of(project, index, [source, *paths[:MAX_EXAMPLES]])
    style = link_style(texts, FORMS.get(project.generator, LinkForm.SITE), paths)
    root = _root(project, source, style.form)
    listed = _matching(project, index, source, text) if text.strip() else siblings[: MAX_RESULTS + 1]
    titles = titles_of(project, index, [entry["path"] for entry in listed])
    return [
        LinkedPage(
            entry["path"],
            titles.get(entry["path"]) or title_of(entry["fields"]) or entry["path"].rpartition("/")[2],
            link_to(_target(project, entry, style), style, source=source, root=root),
        )
        for entry in listed
        if entry["path"] != source
    ]


def _entries(project: Project, index: ContentIndex | None, query: EntryQuery) -> list[Mapping[str, Any]]:
    """Return the pages of a query that the site shows."""
    listed = entries(project, index, query).entries
    return [entry for entry in listed if PAGES.search(entry["path"]) and "/." not in f"/{entry['path']}"]


def _matching(project: Project, index: ContentIndex | None, source: str, text: str) -> Sequence[Mapping[str, Any]]:
    """Return the pages whose title or path contains each word.

    Pages in the language of the file precede others, then those whose title starts with the text, short titles first.
    """
    terms = text.casefold().split()
    longest, names = max(terms, key=len), (*ADDRESS_FIELDS, "title")
    others = tuple(EntryFilter("title", Operator.CONTAINS, term) for term in terms if term != longest)
    # The words as they are typed, all words in any order, and words of titles that are no fields or of paths.
    searches = [
        EntryQuery(selection=FileSelection(term=" ".join(terms))),
        EntryQuery(selection=FileSelection(term=longest), filters=others[:MAX_FILTERS]),
        EntryQuery(selection=FileSelection(term=longest)),
        EntryQuery(filters=(EntryFilter("path", Operator.CONTAINS, longest),)),
    ]
    listed: dict[str, Mapping[str, Any]] = {}
    for search in searches:
        if len(listed) < MAX_RESULTS:
            for entry in _entries(project, index, replace(search, fields=names, limit=MAX_ENTRIES)):
                listed.setdefault(entry["path"], entry)
    titles = titles_of(project, index, list(listed))
    language = _language(source)

    def is_match(entry: Mapping[str, Any]) -> bool:
        own = f"{titles.get(entry['path'], '')} {PAGES.sub('', entry['path'])}".casefold()
        return all(term in own for term in terms)

    def order(entry: Mapping[str, Any]) -> tuple[bool, bool, int]:
        title = titles.get(entry["path"], "").casefold()
        return _language(entry["path"]) != language, not title.startswith(terms[0]), len(title)

    return sorted(filter(is_match, listed.values()), key=order)[:MAX_RESULTS]


def _language(path: str) -> str:
    """Return the folder of a language in a path, or an empty text."""
    return next((part for part in path.split("/")[:-1] if language_code(part)), "")


def _target(project: Project, entry: Mapping[str, Any], style: LinkStyle) -> LinkTarget:
    is_below = style.root is not None and f"{entry['path']}/".startswith(f"{style.root}/" if style.root else "")
    root = style.root if is_below else project.paths.get("content")
    is_written = any(str(entry["fields"].get(name) or "").startswith("/") for name in ("url", "permalink"))
    address = path_in_site(entry["path"], entry["fields"], root, generator=project.generator)
    return LinkTarget(entry["path"], address, is_written)


def _root(project: Project, path: str, form: LinkForm) -> str:
    """Return the folder below which the generator finds pages. References of Hugo are in the language of the page."""
    own = (project.paths.get("content") or "").strip("/")
    if form not in (LinkForm.REF, LinkForm.RELREF):
        return own
    parts = path.split("/")
    depth = own.count("/") + 1 if own and path.startswith(f"{own}/") else 0
    if not depth and "content" in parts:
        depth = parts.index("content") + 1
    return "/".join(parts[: depth + 1] if language_code(parts[depth]) else parts[:depth])
