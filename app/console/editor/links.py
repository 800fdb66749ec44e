"""Links of a page: the pages to which it can lead in the form of the site, and links to pages that do not exist."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from flask import Response
from marshmallow import fields

from app.access.scope import ProjectScope
from app.console.blueprint import blueprint
from app.console.files.scope import BASE, MEMBER
from app.console.shell.forms import Form
from app.console.shell.pages import Page
from app.console.shell.rendering import page
from app.content.entry_filters import MAX_FILTERS, EntryFilter, Operator
from app.content.link_forms import LinkForm, LinkStyle, LinkTarget, link_style, link_to
from app.content.schema.collection_groups import language_code
from app.content.schema.relations import title_of
from app.content.site_paths import PAGES, path_in_site
from app.http.envelope import json_response
from app.http.validation import Length, RequestQuery
from app.models.project import Generator
from app.resources.project_content.entries.entry_conditions import FileSelection
from app.resources.project_content.entries.entry_pages import EntryQuery, entries
from app.resources.project_content.search.missing_links import missing_links
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


@dataclass(frozen=True, kw_only=True)
class LinkQuery(RequestQuery):
    """The page that contains the link, and words of the title of another page."""

    file: Annotated[str, fields.String(load_default="", validate=Length(max=1_024))]
    q: Annotated[str, fields.String(load_default="", validate=Length(max=200))]


@blueprint.get(f"{BASE}/links")
@Page(guard=MEMBER, query=LinkQuery)
def find_pages(*, scope: ProjectScope, query: LinkQuery) -> Response:
    """Return the pages whose title or file name contains some words as JSON: `pages` with title, path and link."""
    folder = query.file.rpartition("/")[0]
    siblings = _entries(scope, EntryQuery(folder=folder or None, fields=ADDRESS_FIELDS, limit=MAX_ENTRIES))
    paths = [sibling["path"] for sibling in siblings]
    texts = texts_of(scope.project, scope.index, [query.file, *paths[:MAX_EXAMPLES]])
    style = link_style(texts, FORMS.get(scope.project.generator, LinkForm.SITE), paths)
    root = _root(scope, query.file, style.form)
    listed = _matching(scope, query) if query.q.strip() else siblings[: MAX_RESULTS + 1]
    titles = titles_of(scope.project, scope.index, [entry["path"] for entry in listed])
    pages = [
        {
            "path": entry["path"],
            "title": titles.get(entry["path"]) or title_of(entry["fields"]) or entry["path"].rpartition("/")[2],
            "url": link_to(_target(scope, entry, style), style, source=query.file, root=root),
        }
        for entry in listed
        if entry["path"] != query.file
    ]
    return json_response({"pages": pages}, 200)


def _entries(scope: ProjectScope, query: EntryQuery) -> list[Mapping[str, Any]]:
    """Return the pages of a query that the site shows."""
    listed = entries(scope.project, scope.index, query).entries
    return [entry for entry in listed if PAGES.search(entry["path"]) and "/." not in f"/{entry['path']}"]


def _matching(scope: ProjectScope, query: LinkQuery) -> Sequence[Mapping[str, Any]]:
    """Return the pages whose title or path contains each word.

    Pages in the language of the file precede others, then those whose title starts with the text, short titles first.
    """
    terms = query.q.casefold().split()
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
            for entry in _entries(scope, replace(search, fields=names, limit=MAX_ENTRIES)):
                listed.setdefault(entry["path"], entry)
    titles = titles_of(scope.project, scope.index, list(listed))
    language = _language(query.file)

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


def _target(scope: ProjectScope, entry: Mapping[str, Any], style: LinkStyle) -> LinkTarget:
    is_below = style.root is not None and f"{entry['path']}/".startswith(f"{style.root}/" if style.root else "")
    root = style.root if is_below else scope.project.paths.get("content")
    is_written = any(str(entry["fields"].get(name) or "").startswith("/") for name in ("url", "permalink"))
    return LinkTarget(entry["path"], path_in_site(entry["path"], entry["fields"], root), is_written)


def _root(scope: ProjectScope, path: str, form: LinkForm) -> str:
    """Return the folder below which the generator finds pages. References of Hugo are in the language of the page."""
    own = (scope.project.paths.get("content") or "").strip("/")
    if form not in (LinkForm.REF, LinkForm.RELREF):
        return own
    parts = path.split("/")
    depth = own.count("/") + 1 if own and path.startswith(f"{own}/") else 0
    if not depth and "content" in parts:
        depth = parts.index("content") + 1
    return "/".join(parts[: depth + 1] if language_code(parts[depth]) else parts[:depth])


@blueprint.post(f"{BASE}/check-links/<path:file>")
@Page(guard=MEMBER, inputs=("body",))
def check_links(*, scope: ProjectScope, form: Form) -> Response:
    """Return the message about links of a text to missing pages as a part of the editor."""
    path = scope.path["file"]
    return page(
        "project/missing_links.html", missing=missing_links(scope.project, scope.index, path, form.text("body"))
    )
