"""Tests of the fields that a list of entries shows."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from app.content.schema.collection_groups import CollectionLanguage
from app.content.schema.columns import Columns, ListedDate, columns_of
from app.content.schema.model import Collection, FieldType, SchemaField
from app.content.schema.path_sets import path_set


def columns(*fields: SchemaField, is_declared: bool = True, counts: Any = None) -> Columns:
    collection = Collection(name="posts", label="Posts", folder="posts", pattern="*.md", fields=fields)
    return columns_of(CollectionLanguage("", collection, path_set(collection)), is_declared=is_declared, counts=counts)


def test_usual_names_win_over_the_order_of_the_fields() -> None:
    found = columns(
        SchemaField("expires", FieldType.DATE),
        SchemaField("updated", FieldType.DATE),
        SchemaField("pubDate", FieldType.DATE),
        SchemaField("kicker", FieldType.STRING),
        SchemaField("title", FieldType.STRING),
        SchemaField("cover", FieldType.IMAGE),
    )
    assert (found.title, found.date, found.image, found.default_sort) == ("title", "pubDate", "cover", "-pubDate")


def test_date_of_an_end_is_not_the_date_of_an_entry() -> None:
    assert columns(SchemaField("expires", FieldType.DATE)).date is None


def test_fields_of_objects_have_dotted_names() -> None:
    inner = (SchemaField("lead", FieldType.IMAGE), SchemaField("name", FieldType.STRING))
    assert columns(SchemaField("meta", FieldType.OBJECT, fields=inner)).image == "meta.lead"


def test_fields_without_a_value_are_not_shown_and_the_usual_author_wins() -> None:
    names = (("date", FieldType.DATE), ("cover", FieldType.IMAGE), ("author", FieldType.STRING))
    fields = [SchemaField(name, kind) for name, kind in (*names, ("authors", FieldType.LIST))]
    assert columns(*fields).author == "author"
    shown = columns(*fields, counts={"author": {"4nell": 1}, "authors": {"54nell": 9}})
    assert (shown.date, shown.image, shown.author) == (None, None, "authors")
    assert "date" in shown.labels


@pytest.mark.parametrize(
    ("counts", "names"),
    [
        (None, ["kind"]),
        ({"kind": {"4note": 2, "4essay": 1}, "long": {"4a": 5, "4b": 5}}, ["kind"]),
        ({"kind": {"4note": 1, "4essay": 1}}, []),
        ({"kind": {"4note": 9}}, []),
        ({}, []),
    ],
)
def test_filter_has_two_short_values_in_three_entries(counts: Any, names: list[str]) -> None:
    kind = SchemaField("kind", FieldType.SELECT, options=("note", "essay", "x" * 41))
    shown = columns(kind, SchemaField("long", FieldType.SELECT, options=("a", "b" * 41)), counts=counts)
    assert [choice.name for choice in shown.choices] == names
    assert [choice.options for choice in shown.choices] == [("note", "essay")] * len(names)


@pytest.mark.parametrize(
    ("counts", "is_declared", "options"),
    [
        (
            {"chief": {"4jane": 2, "4bob": 1}, "big": {"1true": 2, "1false": 1}},
            True,
            [("bob", "jane"), ("true", "false")],
        ),
        ({"chief": {"4jane": 2, "4bob": 1}, "big": {"1true": 2, "1false": 1}}, False, [("bob", "jane")]),
        ({"chief": {"4jane": 3}, "big": {"1true": 3}, "draft": {"1true": 2, "1false": 1}}, True, []),
        ({"chief": {f"4n{number}": 1 for number in range(101)}}, True, []),
        (None, True, [("true", "false")]),
    ],
)
def test_relations_and_declared_switches_are_filters(counts: Any, is_declared: bool, options: Any) -> None:
    fields = [
        SchemaField("draft", FieldType.BOOLEAN),
        SchemaField("big", FieldType.BOOLEAN),
        SchemaField("chief", FieldType.RELATION, collection="people"),
    ]
    shown = columns(*fields, is_declared=is_declared, counts=counts)
    assert [choice.options for choice in shown.choices] == options
    assert list(shown.relations) == ["chief"]
    assert "big" not in shown.groups


def test_labels_of_an_inferred_schema_are_not_declared() -> None:
    field = SchemaField("title", FieldType.STRING, label="Headline")
    assert columns(field).labels == {"title": "Headline"}
    assert columns(field, is_declared=False).labels == {"title": None}


@pytest.mark.parametrize(
    ("path", "value", "date"),
    [
        ("posts/2026-03-01-fog.md", "2026-02-03", ("2026-02-03", False)),
        ("posts/2026-03-01-fog.md", None, ("2026-03-01", False)),
        ("posts/2026-03-01-fog.md", "soon", ("2026-03-01", False)),
        ("posts/fog.md", "2026-02-03T10:00:00Z", ("2026-02-03T10:00:00Z", True)),
        ("posts/fog.md", "soon", None),
    ],
)
def test_date_of_an_entry_is_that_of_the_field_or_of_the_file_name(
    path: str, value: str | None, date: tuple[str, bool] | None
) -> None:
    found = replace(columns(SchemaField("date", FieldType.DATE)), has_dated_names=True).date_of(path, {"date": value})
    assert (None if found is None else (found.text, found.has_time)) == date


def test_moment_without_a_time_zone_is_one_of_utc() -> None:
    date = ListedDate("2026-03-01", datetime.fromisoformat("2026-03-01"), has_time=False)
    assert date.is_after(datetime(2026, 2, 28, 23, tzinfo=UTC))
    assert not date.is_after(datetime(2026, 3, 1, tzinfo=UTC))
