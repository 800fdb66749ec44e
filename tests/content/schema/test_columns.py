"""Tests of the fields that a list of entries shows."""

from app.content.schema.collection_groups import CollectionLanguage
from app.content.schema.columns import Columns, columns_of
from app.content.schema.model import Collection, FieldType, SchemaField
from app.content.schema.path_sets import path_set


def columns(*fields: SchemaField, is_declared: bool = True) -> Columns:
    collection = Collection(name="posts", label="Posts", folder="posts", pattern="*.md", fields=fields)
    return columns_of(CollectionLanguage("", collection, path_set(collection)), is_declared=is_declared)


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


def test_labels_of_an_inferred_schema_are_not_declared() -> None:
    field = SchemaField("title", FieldType.STRING, label="Headline")
    assert columns(field).labels == {"title": "Headline"}
    assert columns(field, is_declared=False).labels == {"title": None}
