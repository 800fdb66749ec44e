"""The view of a list of entries: its order, groups, state and filters, and the query of its entries."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.content.entry_filters import EntryFilter, Operator, parse_filters, parse_order
from app.content.schema.collection_groups import CollectionLanguage
from app.content.schema.columns import Columns
from app.core import clock
from app.resources.project_content.entries.entry_pages import EntryQuery
from app.resources.project_content.schema.site_content import query_of

PER_PAGE = 100
CHOICES = ("sort", "view", "group", "state", "locale")
"""The parts of a view that have one value each."""


@dataclass(frozen=True)
class ListView:
    """The view of a list. `filters` are query parameters, and `view` is `list` or `grid`."""

    sort: str
    view: str
    group: str
    state: str
    locale: str
    filters: Mapping[str, str]

    @property
    def parameters(self) -> dict[str, str]:
        """The query parameters of the view. An empty `filter` replaces the stored filters by none."""
        return {name: getattr(self, name) for name in CHOICES} | (dict(self.filters) or {"filter": ""})

    def in_language(self, language: CollectionLanguage, columns: Columns) -> "ListView":
        """Return the view of another language. Filters of fields and options that it does not have are omitted."""
        options = {choice.name: choice.options for choice in columns.choices}
        filters = {
            parameter: condition.value
            for parameter, condition in zip(self.filters, parse_filters(self.filters), strict=True)
            if condition.name in columns.labels
            and (condition.name not in options or condition.value in options[condition.name])
        }
        return replace(self, locale=language.language, filters=filters)

    def entries(self, language: CollectionLanguage, columns: Columns, *, term: str, cursor: str | None) -> EntryQuery:
        """Return the query of a page of the entries that contain a term.

        The entries of a group follow each other, and those without a date are last.
        """
        sort = self.sort
        if self.group == "year":
            sort = sort if sort.removeprefix("-") == columns.date else columns.default_sort
        elif self.group:
            sort = self.group
        filters = parse_filters(self.filters)
        if self.state == "scheduled" and columns.date is not None:
            filters = (*filters, EntryFilter(columns.date, Operator.GREATER, clock.iso(clock.now())))
        is_draft = None if self.state == "all" else self.state == "draft"
        is_by_date = sort.removeprefix("-") == columns.date or (sort == "-path" and columns.has_dated_names)
        every = query_of(language)
        return replace(
            every,
            order=replace(parse_order(sort), is_by_date=is_by_date),
            filters=(*every.filters, *filters),
            limit=PER_PAGE,
            cursor=cursor,
            selection=replace(every.selection, term=term, is_draft=is_draft),
        )


def list_view(
    columns: Columns,
    stored: Mapping[str, str],
    chosen: Mapping[str, str],
    filters: Mapping[str, str] | None,
    *,
    locale: str,
) -> ListView:
    """Return the view of a choice. What it does not name is that of the stored view, else the default.

    A field or a stored value that the collection no longer has is ignored. `filters` None are those of the stored view.
    """
    values = {"view": "list", "group": "", "state": "all", "sort": "", **stored, **chosen}
    is_group = values["group"] in columns.groups or (values["group"] == "year" and columns.has_dates)
    names = ("path", columns.title, columns.date, *columns.orders)
    if filters is None:
        choices = {f"filter[{choice.name}]": choice.options for choice in columns.choices}
        filters = {name: stored[name] for name, options in choices.items() if stored.get(name) in options}
    return ListView(
        sort=values["sort"] if values["sort"].removeprefix("-") in names else columns.default_sort,
        view="grid" if values["view"] == "grid" else "list",
        group=values["group"] if is_group else "",
        state=values["state"] if values["state"] in ("draft", "published", "scheduled") else "all",
        locale=locale,
        filters=filters,
    )
