"""The entries of a collection: lists with filters, and changes of selected entries. Data files are a list, too."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote, urlencode

from flask import Response, request
from marshmallow import ValidationError, fields, validate

from app.access import authentication
from app.access.scope import ProjectScope, Scope
from app.console.blueprint import blueprint
from app.console.files.destinations import may_only_propose
from app.console.files.page_source import present_head
from app.console.files.scope import BASE, MEMBER, project_url
from app.console.project.bulk import NAMES, delete_paths, move_paths, selected_paths, set_state
from app.console.project.entry_rows import headings_of, labels_of, rows_of
from app.console.project.project_home import NewPage, new_pages
from app.console.shell.forms import Form
from app.console.shell.pages import Page, current_form, see_other
from app.console.shell.rendering import page
from app.content.entry_filters import EntryFilter, InvalidFilter, Operator, parse_filters, parse_order
from app.content.schema.collection_groups import CollectionGroup, CollectionLanguage
from app.content.schema.columns import Columns, columns_of
from app.core import clock
from app.core.errors import NotFound
from app.core.limits import CommitLimits
from app.extensions import drivers
from app.http.validation import Length, RequestQuery
from app.resources.change_set.queries import sets_of_paths
from app.resources.project_content.entries.entry_pages import EntryQuery, count_entries, entries
from app.resources.project_content.index import indexes
from app.resources.project_content.schema.site_content import SiteContent, query_of, site_content

PER_PAGE = 100
COOKIE, COOKIE_S = "galley_list", 180 * 86_400
"""The cookie with the view of a list. Its path is the collection, so each one has its own."""

REMEMBERED = ("sort", "view", "group", "state", "locale")


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
class ListView:
    """The resolved view of a list. All of it is part of the URLs of the page. `filters` are query parameters."""

    sort: str
    view: str
    group: str
    state: str
    locale: str
    filters: dict[str, str]

    @property
    def parameters(self) -> dict[str, str]:
        """The query parameters of the view. An empty `filter` replaces the stored filters by none."""
        return {name: getattr(self, name) for name in REMEMBERED} | (self.filters or {"filter": ""})


@dataclass(frozen=True)
class OpenList:
    """A collection in one language with its columns, its view, and the query of its entries."""

    group: CollectionGroup
    language: CollectionLanguage
    columns: Columns
    view: ListView
    entries: EntryQuery


@dataclass(frozen=True)
class OpenCollections:
    """The collections of a project and the head on which the forms of a page are based."""

    content: SiteContent
    head: str

    def group(self, scope: Scope) -> CollectionGroup:
        """Return the collection of the URL. Raises NotFound."""
        group = self.content.group(scope.path["name"])
        if group is None:
            raise NotFound
        return group


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
    groups = prepared.content.groups
    return see_other(_url(scope, groups[0]) if groups else project_url(scope, "/content/"))


@blueprint.get(f"{BASE}/collections/<name>")
@Page(guard=MEMBER, query=CollectionQuery, upstream=_open)
def collection(*, scope: ProjectScope, query: CollectionQuery, prepared: OpenCollections) -> Response:
    """Show the entries of a collection in one language."""
    opened = _open_list(scope, query, prepared)
    group, language, view, labels = opened.group, opened.language, opened.view, labels_of(opened.columns)
    listed = entries(scope.project, scope.index, opened.entries)
    rows = rows_of(scope, opened.columns, listed.entries, group=view.group)
    has_filter = bool(query.q or view.filters or view.state != "all")
    shown = {**view.parameters, "q": query.q}
    cursor = listed.meta["next_cursor"]
    more = {**shown, "cursor": cursor, "after": (rows[-1].group or "") if rows else ""}
    response = page(
        "project/collection.html",
        group=group,
        part=language,
        columns=opened.columns,
        labels=labels,
        headings=headings_of(opened.columns, labels),
        rows=rows,
        drafts=_new_pages(scope, language, view, query),
        after=query.after,
        query=query,
        view=view,
        total=count_entries(scope.project, scope.index, opened.entries) if has_filter else language.files,
        has_filter=has_filter,
        shown_query=urlencode(shown),
        other_view=urlencode({**shown, "view": "list" if view.view == "grid" else "grid"}),
        language_queries=[
            (code, urlencode({"q": query.q, **_in_language(view, code, prepared).parameters}))
            for code in group.languages
        ],
        more=urlencode(more) if cursor else None,
        selected=set(current_form().all("select")),
        max_selected=CommitLimits.form_files,
        head=prepared.head,
        only_proposes=may_only_propose(scope),
        also=sets_of_paths(scope.project.id, [row.path for row in rows]),
    )
    _remember(response, view, path=_url(scope, group))
    return response


def _in_language(view: ListView, language: CollectionLanguage, prepared: OpenCollections) -> ListView:
    """Return a view with another language. Filters of fields and options that it does not have are omitted."""
    columns = columns_of(language, is_declared=prepared.content.is_declared)
    options = {choice.name: choice.options for choice in columns.choices}
    filters = {
        parameter: condition.value
        for parameter, condition in zip(view.filters, parse_filters(view.filters), strict=True)
        if condition.name in columns.labels
        and (condition.name not in options or condition.value in options[condition.name])
    }
    return replace(view, locale=language.language, filters=filters)


def _new_pages(
    scope: ProjectScope, language: CollectionLanguage, view: ListView, query: CollectionQuery
) -> list[NewPage]:
    """Return the pages of a collection that only the user has, as drafts. A list filtered by a field has none."""
    if query.cursor or view.filters or view.state not in ("all", "draft"):
        return []
    term, condition = query.q.strip().casefold(), language.collection.filter
    return [
        new_page
        for new_page in new_pages(scope)
        if language.name_of(new_page.path) is not None
        and (condition is None or condition.permits(new_page.values))
        and term in (new_page.title or new_page.path).casefold()
    ]


def _remember(response: Response, view: ListView, *, path: str) -> None:
    """Store the view in the cookie of the collection, if the URL names a part of it."""
    if not any(name in REMEMBERED or name.startswith("filter") for name in request.args):
        return
    response.set_cookie(
        COOKIE,
        urlencode(view.parameters),
        max_age=COOKIE_S,
        path=path,
        httponly=True,
        samesite="Lax",
        secure=authentication.is_https(),
    )


def _url(scope: ProjectScope, group: CollectionGroup) -> str:
    return project_url(scope, f"/collections/{quote(group.name)}")


@blueprint.post(f"{BASE}/collections/<name>")
@Page(
    guard=MEMBER,
    query=CollectionQuery,
    inputs=("select", "select[]", "all", "base_sha", "action", "target"),
    shown_by="collection",
    names=NAMES,
    upstream=_open,
)
def change_entries(*, scope: ProjectScope, query: CollectionQuery, form: Form, prepared: OpenCollections) -> Response:
    """Delete, move, publish or mark as drafts the selected entries, or all entries of the filter."""
    opened, action, base_sha = _open_list(scope, query, prepared), form.text("action"), form.text("base_sha")
    paths = selected_paths(_all_paths(scope, opened) if form.is_checked("all") else form.all("select"))
    if action == "delete":
        outcome = delete_paths(scope, paths, base_sha)
    elif action == "move":
        outcome = move_paths(scope, paths, form.text("target"), base_sha)
    else:
        outcome = set_state(scope, paths, is_draft=action == "draft", field=opened.columns.draft)
    shown = urlencode({name: value for name, value in request.args.items() if name != "done"})
    url = _url(scope, opened.group)
    return outcome.lead(f"{url}?{shown}" if shown else url)


def _all_paths(scope: ProjectScope, opened: OpenList) -> list[str]:
    """Return the entries of a filter, and one more than a form may change if there are so many."""
    query = replace(opened.entries, limit=CommitLimits.form_files + 1, cursor=None)
    return [entry["path"] for entry in entries(scope.project, scope.index, query).entries]


def _open_list(scope: ProjectScope, query: CollectionQuery, prepared: OpenCollections) -> OpenList:
    """Return the collection of the URL with its view. Raises NotFound."""
    group, stored = prepared.group(scope), dict(parse_qsl(request.cookies.get(COOKIE, "")))
    language = group.in_language((query.locale or "") if "locale" in request.args else stored.get("locale"))
    columns = columns_of(language, is_declared=prepared.content.is_declared)
    view = _view_of(columns, query, stored, locale=language.language)
    return OpenList(group, language, columns, view, _query_of(language, columns, view, query))


def _view_of(columns: Columns, query: CollectionQuery, stored: dict[str, str], *, locale: str) -> ListView:
    """Return the view of a query. What it does not name is that of the last visit, else the default.

    A field or a stored value that the collection no longer has is ignored.
    """
    # An empty parameter is a choice, for example of no group.
    chosen = {name: getattr(query, name) or "" for name in REMEMBERED if name in request.args}
    values = {"view": "list", "group": "", "state": "all", "sort": ""} | stored | chosen
    is_group = values["group"] in columns.groups or (values["group"] == "year" and columns.has_dates)
    names = ("path", columns.title, columns.date)
    filters, choices = query.filter, {f"filter[{choice.name}]": choice.options for choice in columns.choices}
    if not any(name.startswith("filter") for name in request.args):
        filters = {name: stored[name] for name, options in choices.items() if stored.get(name) in options}
    return ListView(
        sort=values["sort"] if values["sort"].removeprefix("-") in names else columns.default_sort,
        view="grid" if values["view"] == "grid" else "list",
        group=values["group"] if is_group else "",
        state=values["state"] if values["state"] in ("draft", "published", "scheduled") else "all",
        locale=locale,
        filters=filters,
    )


def _query_of(language: CollectionLanguage, columns: Columns, view: ListView, query: CollectionQuery) -> EntryQuery:
    """Return the query of the entries. The entries of a group follow each other, and those without a date are last."""
    sort = view.sort
    if view.group == "year":
        sort = sort if sort.removeprefix("-") == columns.date else columns.default_sort
    elif view.group:
        sort = view.group
    filters = parse_filters(view.filters)
    if view.state == "scheduled" and columns.date is not None:
        filters = (*filters, EntryFilter(columns.date, Operator.GREATER, clock.iso(clock.now())))
    is_draft = None if view.state == "all" else view.state == "draft"
    is_by_date = sort.removeprefix("-") == columns.date or (sort == "-path" and columns.has_dated_names)
    every = query_of(language)
    return replace(
        every,
        order=replace(parse_order(sort), is_by_date=is_by_date),
        filters=(*every.filters, *filters),
        limit=PER_PAGE,
        cursor=query.cursor,
        selection=replace(every.selection, term=query.q.strip(), is_draft=is_draft),
    )


@blueprint.get(f"{BASE}/data")
@Page(guard=MEMBER, upstream=_open)
def data(*, scope: ProjectScope, prepared: OpenCollections) -> Response:
    """Show the files that are edited by themselves."""
    return page("project/data.html", singles=prepared.content.singles)
