"""The view of a list of entries: what is chosen, stored or usual, and the order and filters of its entries."""

import pytest

from app.content.schema.collection_groups import CollectionLanguage
from app.content.schema.columns import Columns, columns_of
from app.content.schema.model import Collection, FieldType, SchemaField
from app.content.schema.path_sets import path_set
from app.resources.project_content.schema.list_view import ListView, list_view

FIELDS = (
    SchemaField("title", FieldType.STRING),
    SchemaField("date", FieldType.DATE),
    SchemaField("topic", FieldType.SELECT, options=("sea", "land")),
)
POSTS = Collection(name="posts", label="Posts", folder="posts", pattern="*.md", fields=FIELDS)
LANGUAGE = CollectionLanguage("en", POSTS, path_set(POSTS))
COLUMNS: Columns = columns_of(LANGUAGE, is_declared=True)


def view(
    stored: dict[str, str] | None = None, chosen: dict[str, str] | None = None, filters: dict[str, str] | None = None
) -> ListView:
    return list_view(COLUMNS, stored or {}, chosen or {}, filters, locale="en")


def test_choice_precedes_the_stored_view_and_the_default() -> None:
    shown = view({"sort": "title", "group": "topic", "view": "grid"}, {"sort": "date", "group": ""})
    assert (shown.sort, shown.group, shown.view, shown.state) == ("date", "", "grid", "all")


def test_values_that_the_collection_does_not_have_are_ignored() -> None:
    stored = {"sort": "weight", "group": "author", "state": "lost", "filter[topic]": "air"}
    assert view(stored) == ListView("-date", "list", "", "all", "en", {})


def test_stored_filters_are_used_until_the_url_has_filters() -> None:
    stored = {"filter[topic]": "sea"}
    assert view(stored).filters == stored
    assert view(stored, filters={}).parameters["filter"] == ""


def test_filters_of_fields_that_a_language_does_not_have_are_omitted() -> None:
    other = Collection(name="posts", label="Posts", folder="de", pattern="*.md", fields=FIELDS[:2])
    german = CollectionLanguage("de", other, path_set(other))
    shown = view(filters={"filter[topic]": "sea", "filter[title][contains]": "Fog"})
    changed = shown.in_language(german, columns_of(german, is_declared=True))
    assert (changed.locale, changed.filters) == ("de", {"filter[title][contains]": "Fog"})


@pytest.mark.parametrize(
    ("chosen", "order"),
    [
        ({"sort": "title"}, ("title", False, False)),
        ({"sort": "title", "group": "year"}, ("date", True, True)),
        ({"sort": "date", "group": "year"}, ("date", False, True)),
        ({"sort": "-date", "group": "topic"}, ("topic", False, False)),
    ],
)
def test_entries_of_a_group_follow_each_other(chosen: dict[str, str], order: tuple[str, bool, bool]) -> None:
    query = view(chosen=chosen).entries(LANGUAGE, COLUMNS, term="fog", cursor=None)
    assert (query.order.name, query.order.is_descending, query.order.is_by_date) == order
    assert query.selection.term == "fog"


def test_scheduled_entries_are_published_ones_with_a_later_date() -> None:
    query = view(chosen={"state": "scheduled"}).entries(LANGUAGE, COLUMNS, term="", cursor=None)
    assert [(condition.name, condition.operator) for condition in query.filters] == [("date", "gt")]
    assert query.selection.is_draft is False
