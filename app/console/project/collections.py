"""The entries of a collection: lists with filters, and changes of selected entries. Data files are a list, too."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote, urlencode

from flask import Response, request
from marshmallow import ValidationError, fields, validate

from app.access import authentication
from app.access.scope import ProjectScope
from app.console.blueprint import blueprint
from app.console.files.destinations import may_only_propose
from app.console.files.page_source import present_head
from app.console.files.scope import BASE, MEMBER, project_url
from app.console.project.bulk import CONFIRMED, NAMES, delete_paths, move_paths, selected_paths, set_state
from app.console.project.project_home import NewPage, new_pages
from app.console.shell.field_labels import label_of, page_name
from app.console.shell.forms import Form
from app.console.shell.pages import Page, current_form, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import gettext as _
from app.content.draft_state import is_draft
from app.content.entry_filters import EntryFilter, InvalidFilter, parse_filters, parse_order
from app.content.field_values import key_of, value_of
from app.content.schema.collection_groups import CollectionGroup, CollectionLanguage
from app.content.schema.columns import Columns, ListedDate, columns_of, counted_names
from app.content.schema.model import FieldType, SchemaField
from app.content.schema.relations import TITLES, scalars_of
from app.core import clock
from app.core.errors import NotFound
from app.core.limits import CommitLimits
from app.extensions import drivers
from app.http.validation import Length, RequestQuery
from app.resources.change_set.queries import NamedSet, sets_of_paths
from app.resources.project_content.entries.entry_pages import EntryQuery, count_entries, entries, value_counts
from app.resources.project_content.images import EntryImage, entry_images, site_roots
from app.resources.project_content.index import indexes
from app.resources.project_content.schema.list_view import CHOICES, ListView, list_view
from app.resources.project_content.schema.relation_entries import Relation, RelationReader
from app.resources.project_content.schema.site_content import FileGroup, SingleFile, SiteContent, query_of, site_content
from app.resources.project_content.tree.folder_listing import logged_changes, titles_of

COOKIE, COOKIE_S = "galley_list", 180 * 86_400
"""The cookie with the view of a list. Its path is the collection, so each one has its own."""

MAX_SUMMARY = 300
_LINK = re.compile(r"\[([^\[\]\n]*)\]\([^)\s\[]*\)")


@dataclass(frozen=True, kw_only=True)
class CollectionQuery(RequestQuery):
    """The view of a list of entries. What is absent is as in the last visit."""

    sort: Annotated[str | None, fields.String(load_default=None, validate=Length(max=121))]
    view: Annotated[str | None, fields.String(load_default=None, validate=validate.OneOf(["list", "grid"]))]
    group: Annotated[str | None, fields.String(load_default=None, validate=Length(max=120))]
    state: Annotated[
        str | None,
        fields.String(load_default=None, validate=validate.OneOf(["all", "draft", "published", "scheduled"])),
    ]
    locale: Annotated[str | None, fields.String(load_default=None, validate=Length(max=20))]
    q: Annotated[str, fields.String(load_default="", validate=Length(max=200))]
    cursor: Annotated[str | None, fields.String(load_default=None, validate=Length(max=6_000))]
    after: Annotated[str | None, fields.String(load_default=None, validate=Length(max=500))]
    filter: Annotated[dict[str, str], fields.Dict(load_default=dict)]

    @classmethod
    def normalize(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Collect the parameters `filter[…]`. An empty value is no filter."""
        named = {name: value for name, value in data.items() if name.startswith("filter[") and value}
        return {name: value for name, value in data.items() if not name.startswith("filter")} | {"filter": named}

    def __post_init__(self) -> None:
        """Refuse invalid filters and an invalid order."""
        try:
            _ = self.filters, parse_order(self.sort or "path")
        except InvalidFilter as error:
            raise ValidationError(str(error), error.parameter) from error

    @cached_property
    def filters(self) -> tuple[EntryFilter, ...]:
        return parse_filters(self.filter)


@dataclass(frozen=True)
class OpenCollections:
    """The collections of a project and the head on which the forms of a page are based."""

    content: SiteContent
    head: str


def _open(scope: ProjectScope, query: CollectionQuery | None = None) -> OpenCollections:
    """Read the collections and the present head of the branch."""
    content = site_content(scope.project, scope.index, hosts=drivers.git, by=scope.caller)
    head = present_head(scope)
    indexes.mark_stale_if_moved(scope.project, scope.index, hosts=drivers.git)
    return OpenCollections(content, head)


@blueprint.get(f"{BASE}/collections")
@Page(guard=MEMBER, upstream=_open)
def first_collection(*, scope: ProjectScope, prepared: OpenCollections) -> Response:
    """Lead to the first collection, or to all files if the project has none."""
    first = next((item for item in prepared.content.navigation if not isinstance(item, SingleFile)), None)
    return see_other(_url(scope, first) if first is not None else project_url(scope, "/content/"))


@dataclass(frozen=True)
class ListedEntry:
    """An entry of a list. `group` is the heading in a grouped list, `also` the change sets that contain the entry."""

    path: str
    title: str
    summary: str
    date: ListedDate | None
    state: str
    author: str
    image: EntryImage | None
    group: str | None
    also: Sequence[NamedSet]


@dataclass(frozen=True)
class ShownCollection:
    """The list of a collection in one language: its columns, its view, and the query of its entries."""

    scope: ProjectScope
    opened: OpenCollections
    query: CollectionQuery
    group: CollectionGroup
    part: CollectionLanguage
    columns: Columns
    view: ListView
    entries: EntryQuery
    _known_titles: dict[str, Mapping[str, str]] = field(default_factory=dict)

    @cached_property
    def labels(self) -> dict[str, str]:
        """The labels of the fields, as the form of an entry shows them."""
        return {name: label or label_of(name.rpartition(".")[2]) for name, label in self.columns.labels.items()}

    @cached_property
    def headings(self) -> dict[str, str]:
        """The headings of the columns."""
        usual = {"image": _("Image"), "title": _("Title"), "date": _("Date"), "author": _("Author")}
        return {column: self.labels.get(getattr(self.columns, column) or "", text) for column, text in usual.items()}

    def option_text(self, choice: SchemaField, option: object) -> str:
        """Return an option of a filter as the user reads it: an entry by its title, a switch as an answer."""
        if choice.type is FieldType.BOOLEAN:
            return _("Yes") if option == "true" else _("No")
        return self._titles(choice.name, choice.options).get(key_of(option)) or str(option)

    def _titles(self, name: str, values: Iterable[object]) -> Mapping[str, str]:
        """Return the titles of the entries that a relation names, by the keys of its values. Other fields have none."""
        relation = self.columns.relations.get(name)
        if relation is None:
            return {}
        if name not in self._known_titles:
            names = relation.collection, relation.value_field, relation.title_field
            target = Relation.of(self.opened.content.schema, *names)
            reader = RelationReader(self.scope.project, self.scope.index, drivers.git, self.scope.caller)
            self._known_titles[name] = reader.titles(target, list(dict.fromkeys(values))) if target is not None else {}
        return self._known_titles[name]

    def _named(self, listed: Sequence[Mapping[str, Any]], name: str | None) -> dict[str, object]:
        """Return the value of a field of each listed entry by its path. Related entries have their titles."""
        if not name:
            return {}
        values = {entry["path"]: value_of(entry["fields"], name) for entry in listed}
        if name not in self.columns.relations:
            return values
        options = [option for choice in self.columns.choices if choice.name == name for option in choice.options]
        titles = self._titles(name, [*options, *(single for value in values.values() for single in scalars_of(value))])

        def titled(value: object) -> object:
            if isinstance(value, list):
                return [titled(item) for item in value]
            return titles.get(key_of(value), value) if isinstance(value, str | int) else value

        return {path: titled(value) for path, value in values.items()}

    @property
    def has_filter(self) -> bool:
        """True if the list can omit entries of the collection."""
        return bool(self.query.q or self.view.filters or self.view.state != "all")

    @cached_property
    def total(self) -> int:
        """The number of entries of all pages."""
        return count_entries(self.scope.project, self.scope.index, self.entries) if self.has_filter else self.part.files

    @property
    def drafts(self) -> list[NewPage]:
        """The pages that only the user has, as drafts. A list filtered by a field has none."""
        if self.query.cursor or self.view.filters or self.view.state not in ("all", "draft"):
            return []
        term, condition = self.query.q.strip().casefold(), self.part.collection.filter
        return [
            new_page
            for new_page in new_pages(self.scope)
            if self.part.name_of(new_page.path) is not None
            and (condition is None or condition.permits(new_page.values))
            and term in (new_page.title or new_page.path).casefold()
        ]

    @property
    def languages(self) -> list[tuple[CollectionLanguage, str]]:
        """The languages of the collection with the query of this view in each of them."""
        is_declared = self.opened.content.is_declared
        views = [
            self.view.in_language(language, columns_of(language, is_declared=is_declared))
            for language in self.group.languages
        ]
        queries = [urlencode({"q": self.query.q, **view.parameters}) for view in views]
        return list(zip(self.group.languages, queries, strict=True))

    def shown_query(self, **changed: str) -> str:
        """Return the query of this list with other parameters."""
        return urlencode({**self.view.parameters, "q": self.query.q, **changed})

    def all_paths(self) -> list[str]:
        """Return the entries of all pages, and one more than a form may change if there are so many."""
        query = replace(self.entries, limit=CommitLimits.form_files + 1, cursor=None)
        return [entry["path"] for entry in entries(self.scope.project, self.scope.index, query).entries]

    def rows(self) -> tuple[list["ListedEntry"], str | None]:
        """Return a page of rows, and the query of the next one. Titles, images and changes need few statements."""
        scope, columns = self.scope, self.columns
        listed = entries(scope.project, scope.index, self.entries)
        paths = [entry["path"] for entry in listed.entries]
        titles = titles_of(scope.project, scope.index, paths)
        unknown = [entry["path"] for entry in listed.entries if entry["last_commit"] is None]
        changes = logged_changes(scope.project.id, unknown) if unknown and columns.author is None else {}
        column = columns.image
        sources = {own["path"]: value_of(own["fields"], column) if column else None for own in listed.entries}
        images = entry_images(scope.index, site_roots(scope.project, scope.index), self.part.collection, sources)
        authors, groups = self._named(listed.entries, columns.author), self._named(listed.entries, self.view.group)
        also, now, rows = sets_of_paths(scope.project.id, paths), clock.now(), []
        for item in listed.entries:
            path, fields = item["path"], item["fields"]
            date = columns.date_of(path, fields)
            state = "scheduled" if date is not None and date.is_after(now) else ""
            state = "draft" if is_draft(fields, columns.draft) else state
            author = _text(authors.get(path))[:MAX_SUMMARY]
            commit = item["last_commit"] or changes.get(path) or {}
            rows.append(
                ListedEntry(
                    path=path,
                    title=_text(value_of(fields, columns.title) if columns.title else None)
                    or titles.get(path)
                    or page_name(path),
                    summary=_text(value_of(fields, columns.summary))[:MAX_SUMMARY] if columns.summary else "",
                    date=date,
                    state=state,
                    author=_LINK.sub(r"\1", author) if columns.author else commit.get("author") or "",
                    image=images.get(path),
                    group=_group(groups.get(path), date, self.view.group),
                    also=also.get(path, ()),
                )
            )
        cursor, last_group = listed.meta["next_cursor"], (rows[-1].group or "") if rows else ""
        return rows, self.shown_query(cursor=cursor, after=last_group) if cursor else None


def _text(value: Any) -> str:
    """Return a value in one line. The items of a list are separated by commas."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(_text, value)))
    if isinstance(value, Mapping):
        return _text(next((value[name] for name in TITLES if name in value), None))
    return " ".join(str(value).split()) if value is not None and not isinstance(value, bool) else ""


def _group(value: object, date: ListedDate | None, group: str) -> str | None:
    """Return the heading of an entry: the year of its date, or the value of a field."""
    if not group:
        return None
    if group == "year":
        return str(date.moment.year) if date is not None else _("Without a date")
    if isinstance(value, list):
        value = value[0] if value else None
    return _text(value) or _("Without a value")


def _open_list(scope: ProjectScope, query: CollectionQuery, prepared: OpenCollections) -> ShownCollection:
    """Return the list of the collection of the URL. Raises NotFound."""
    group, stored = prepared.content.group(scope.path["name"]), dict(parse_qsl(request.cookies.get(COOKIE, "")))
    if group is None:
        raise NotFound
    language = group.in_language((query.locale or "") if "locale" in request.args else stored.get("locale"))
    counts = value_counts(scope.project, scope.index, query_of(language), counted_names(language))
    columns = columns_of(language, is_declared=prepared.content.is_declared, counts=counts)
    # An empty parameter is a choice, for example of no group.
    chosen = {name: getattr(query, name) or "" for name in CHOICES if name in request.args}
    filters = query.filter if any(name.startswith("filter") for name in request.args) else None
    view = list_view(columns, stored, chosen, filters, locale=language.language)
    listed = view.entries(language, columns, term=query.q.strip(), cursor=query.cursor)
    return ShownCollection(scope, prepared, query, group, language, columns, view, listed)


def _remember(response: Response, shown: ShownCollection) -> None:
    """Store the view in the cookie of the collection, if the URL names a part of it."""
    if not any(name in CHOICES or name.startswith("filter") for name in request.args):
        return
    response.set_cookie(
        COOKIE,
        urlencode(shown.view.parameters),
        max_age=COOKIE_S,
        path=_url(shown.scope, shown.group),
        httponly=True,
        samesite="Lax",
        secure=authentication.is_https(),
    )


def _url(scope: ProjectScope, group: CollectionGroup | FileGroup) -> str:
    return project_url(scope, f"/collections/{quote(group.name)}")


@blueprint.get(f"{BASE}/collections/<name>")
@Page(guard=MEMBER, query=CollectionQuery, upstream=_open)
def collection(*, scope: ProjectScope, query: CollectionQuery, prepared: OpenCollections) -> Response:
    """Show the entries of a collection in one language, or the files of a collection of single files."""
    files = prepared.content.file_group(scope.path["name"])
    if files is not None:
        return page("project/data.html", label=files.label, singles=files.members)
    shown = _open_list(scope, query, prepared)
    rows, more = shown.rows()
    response = page(
        "project/collection.html",
        shown=shown,
        query=query,
        rows=rows,
        more=more,
        selected=set(current_form().all("select")),
        only_proposes=may_only_propose(scope),
    )
    _remember(response, shown)
    return response


@blueprint.post(f"{BASE}/collections/<name>")
@Page(
    guard=MEMBER,
    query=CollectionQuery,
    inputs=(CONFIRMED, "select", "select[]", "all", "base_sha", "action", "target"),
    shown_by="collection",
    names=NAMES,
    upstream=_open,
)
def change_entries(*, scope: ProjectScope, query: CollectionQuery, form: Form, prepared: OpenCollections) -> Response:
    """Delete, move, publish or mark as drafts the selected entries, or all entries of the filter."""
    opened, action, base_sha = _open_list(scope, query, prepared), form.text("action"), form.text("base_sha")
    paths = selected_paths(opened.all_paths() if form.is_checked("all") else form.all("select"))
    if action == "delete":
        outcome = delete_paths(scope, paths, base_sha, is_confirmed=form.is_checked(CONFIRMED))
    elif action == "move":
        outcome = move_paths(scope, paths, form.text("target"), base_sha)
    else:
        outcome = set_state(scope, paths, is_draft=action == "draft", field=opened.columns.draft)
    return outcome.lead(_url(scope, opened.group))


@blueprint.get(f"{BASE}/data")
@Page(guard=MEMBER, upstream=_open)
def data(*, scope: ProjectScope, prepared: OpenCollections) -> Response:
    """Show the data files that no schema describes."""
    return page("project/data.html", label="", singles=prepared.content.singles)
