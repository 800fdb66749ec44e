"""Limits, patterns, variants, translations and filters of collections."""

from typing import Any

import pytest

from app.content.schema.model import (
    Collection,
    CollectionFilter,
    ContentSchema,
    FieldType,
    SchemaField,
    SourceKind,
)
from app.content.schema.validation import collection_of, validate

TITLE = SchemaField("title", FieldType.STRING, required=True, translated=True)
DATE = SchemaField("date", FieldType.DATE, required=True)


def pointers(values: dict[str, Any], *fields: SchemaField, kind: SourceKind = SourceKind.GALLEY) -> list[str]:
    collection = Collection("posts", "posts", "*.md", fields)
    return [error.pointer for error in validate(ContentSchema(kind, None, (collection,)), collection, values)]


class TestLimits:
    @pytest.mark.parametrize(
        ("kind", "values"),
        [
            (FieldType.NUMBER, [1, 2, 4, 4.5]),
            (FieldType.STRING, ["a", "ab", "abcd", "abcde"]),
            (FieldType.LIST, [[1], [1, 2], [1, 2, 3, 4], [1] * 5]),
        ],
    )
    def test_value_outside_of_the_limits_is_invalid(self, kind: FieldType, values: list[Any]) -> None:
        field = SchemaField("a", kind, minimum=2, maximum=4)
        assert [pointers({"a": value}, field) for value in values] == [["/a"], [], [], ["/a"]]
        assert pointers({"a": values[0]}, field, kind=SourceKind.INFERRED) == []

    def test_limit_of_one_side_is_named(self) -> None:
        field = SchemaField("a", FieldType.NUMBER, minimum=2)
        collection = Collection("posts", "posts", "*.md", (field,))
        schema = ContentSchema(SourceKind.GALLEY, None, (collection,))
        assert validate(schema, collection, {"a": 1})[0].values == {"range": "≥ 2"}

    def test_text_without_the_pattern_is_invalid(self) -> None:
        field = SchemaField("a", FieldType.STRING, pattern="^[a-z]+$", pattern_hint="Only letters")
        assert [pointers({"a": value}, field) for value in ("abc", "a1")] == [[], ["/a"]]

    def test_large_pattern_with_many_long_texts_is_refused(self) -> None:
        field = SchemaField("a", FieldType.LIST, item=SchemaField("", FieldType.STRING, pattern="^(.?){250}$"))
        assert pointers({"a": ["a" * 240] * 10}, field) == []
        assert pointers({"a": ["a" * 240] * 100}, field) == [""]


class TestObjects:
    def test_empty_optional_object_requires_no_children(self) -> None:
        optional = SchemaField("seo", FieldType.OBJECT, fields=(TITLE,))
        required = SchemaField("seo", FieldType.OBJECT, required=True, fields=(TITLE,))
        for value in ({}, {"title": ""}, {"title": None, "other": {"a": []}}):
            assert pointers({"seo": value}, optional) == []
            assert pointers({"seo": value}, required) == ["/seo/title"]
        assert pointers({"seo": {"other": 1}}, optional) == ["/seo/title"]

    def test_missing_object_requires_its_children_and_an_empty_list_is_missing(self) -> None:
        field = SchemaField("seo", FieldType.OBJECT, required=True, fields=(TITLE,))
        tags = SchemaField("tags", FieldType.LIST, required=True)
        assert pointers({}, field, tags) == ["/seo/title", "/tags"]
        assert pointers({"seo": {"title": "A"}, "tags": []}, field, tags) == ["/tags"]
        assert pointers({}, SchemaField("draft", FieldType.BOOLEAN, required=True)) == []

    def test_object_has_the_fields_of_its_variant(self) -> None:
        variants = (SchemaField("hero", FieldType.OBJECT, fields=(TITLE,)), SchemaField("gap", FieldType.OBJECT))
        field = SchemaField("block", FieldType.OBJECT, fields=(DATE,), variants=variants, variant_key="kind")
        assert pointers({"block": {"kind": "hero", "date": "2026-01-01", "title": "A"}}, field) == []
        assert pointers({"block": {"kind": "hero"}}, field) == ["/block/date", "/block/title"]
        assert pointers({"block": {"kind": "gap", "date": "2026-01-01"}}, field) == []
        assert pointers({"block": {"date": "2026-01-01"}}, field) == ["/block/kind"]
        only = SchemaField("block", FieldType.OBJECT, variants=variants[:1], variant_key="kind")
        assert pointers({"block": {"other": 1}}, only) == ["/block/title"]
        assert pointers({"block": {"kind": "none"}}, only) == ["/block/kind"]


class TestCollectionOf:
    def test_translation_requires_translated_fields_only(self) -> None:
        collection = Collection("posts", "posts", "**/*.md", (TITLE, DATE), locales=("en", "de"))
        schema = ContentSchema(SourceKind.GALLEY, None, (collection,))
        required = {}
        for path in ("posts/en/a.md", "posts/de/a.md", "posts/a.md", "posts/a.de.md", "posts/a.en.md"):
            match = collection_of(schema, path)
            assert match is not None
            required[path] = [field.required for field in match.fields]
        assert required == {
            "posts/en/a.md": [True, True],
            "posts/de/a.md": [True, False],
            "posts/a.md": [True, True],
            "posts/a.de.md": [True, False],
            "posts/a.en.md": [True, True],
        }

    def test_filter_selects_one_of_the_collections_of_a_folder(self) -> None:
        def make(name: str, *values: str) -> Collection:
            entry_filter = CollectionFilter("kind", values) if values else None
            return Collection(name, "posts", "*.md", filter=entry_filter)

        schema = ContentSchema(SourceKind.GALLEY, None, (make("news", "news"), make("all"), make("talks", "talk", "x")))
        names = []
        for values in ({"kind": "news"}, {"kind": ["x"]}, {"kind": "other"}, {}, None):
            match = collection_of(schema, "posts/a.md", values)
            names.append(match.name if match is not None else None)
        assert names == ["news", "talks", "all", "all", "all"]

    def test_collection_of_the_file_itself_precedes_those_of_its_folder(self) -> None:
        collections = (Collection("posts", "posts", "*.md"), Collection("pages.start", "posts", "_index.md"))
        schema = ContentSchema(SourceKind.DECAP, None, collections)
        owners = [collection_of(schema, f"posts/{name}.md") for name in ("_index", "a")]
        assert [owner.name if owner is not None else "" for owner in owners] == ["pages.start", "posts"]

    def test_excluded_file_belongs_to_no_collection(self) -> None:
        collection = Collection("posts", "posts", "**/*.md", exclude=("README.md",))
        schema = ContentSchema(SourceKind.GALLEY, None, (collection,))
        assert [collection_of(schema, path) for path in ("posts/a/README.md", "posts/b.md")] == [None, collection]
