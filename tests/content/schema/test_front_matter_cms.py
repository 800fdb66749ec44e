"""Collections of `frontmatter.json`."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from app.content.schema.front_matter_cms import PAGE_FOLDERS, read_front_matter_cms
from app.content.schema.model import ContentSchema, SchemaField, SourceKind
from app.content.schema.new_entry import new_entry
from app.content.schema.validation import collection_of, validate
from tests.content.schema.samples import sample, types

NOW = datetime(2026, 11, 3, 8, 5, tzinfo=UTC)
FOLDERS = [{"title": "Posts", "path": "[[workspace]]/posts"}]


def read(fields: list[dict[str, Any]] | None = None, **settings: Any) -> ContentSchema:
    """Read a file with one folder and one content type with the fields, unless the settings have others."""
    own = {"content": {"pageFolders": FOLDERS}, "taxonomy": {"contentTypes": [{"name": "default", "fields": fields}]}}
    for name, value in settings.items():
        group, _, setting = name.partition("_")
        own.setdefault(group, {})[setting] = value
    schema = read_front_matter_cms("frontmatter.json", json.dumps({"frontMatter": own}).encode())
    assert schema is not None
    return schema


def only_field(*fields: dict[str, Any], **settings: Any) -> SchemaField:
    schema = read(list(fields), **settings)
    assert schema.problems == ()
    return schema.collections[0].fields[0]


def errors(schema: ContentSchema, path: str, values: dict[str, Any]) -> list[str]:
    collection = collection_of(schema, path, values)
    assert collection is not None
    return [f"{error.pointer}: {error.template}" for error in validate(schema, collection, values)]


class TestContentTypes:
    TYPES = (
        {"name": "default", "fields": [{"name": "title", "type": "string", "required": True}]},
        {"name": "event", "fields": [{"name": "place", "type": "string", "required": True}], "pageBundle": True},
    )

    def test_folder_without_types_uses_the_type_of_each_page(self) -> None:
        schema = read(taxonomy_contentTypes=self.TYPES)
        assert [one.name for one in schema.collections] == ["Posts", "Posts.event"]
        assert errors(schema, "posts/a.md", {}) == ["/title: This field is required"]
        assert errors(schema, "posts/a.md", {"type": "event"}) == ["/place: This field is required"]
        assert errors(schema, "posts/a.md", {"type": "unknown", "title": "A"}) == []

    def test_folder_with_one_type_uses_it_for_all_pages(self) -> None:
        folders = [FOLDERS[0] | {"contentTypes": ["event"]}]
        schema = read(taxonomy_contentTypes=self.TYPES, content_pageFolders=folders)
        assert errors(schema, "posts/a.md", {}) == ["/place: This field is required"]

    def test_new_page_has_its_type_and_is_a_bundle(self) -> None:
        entry = new_entry(read(taxonomy_contentTypes=self.TYPES).collections[1], "posts", title="Fog", now=NOW)
        assert (entry.path, "type: event" in entry.text) == ("posts/2026-11-03-fog/index.md", True)

    def test_unknown_type_is_a_problem(self) -> None:
        (problem,) = read([], content_pageFolders=[FOLDERS[0] | {"contentTypes": ["x"]}]).problems
        assert problem.pointer == "/frontMatter.content.pageFolders/0/contentTypes"

    @pytest.mark.parametrize(
        ("prefix", "path"),
        [
            (None, "fog.md"),
            ("", "fog.md"),
            ("yyyy-MM-dd", "2026-11-03-fog.md"),
            ("{{date|yyyy}}/", "2026/fog.md"),
            ("{{year}}-{{month}}", "2026-11-fog.md"),
            ("note", "fog.md"),
        ],
    )
    def test_file_name_has_the_prefix_of_its_folder(self, prefix: str | None, path: str) -> None:
        schema = read([], content_pageFolders=[FOLDERS[0] | {"filePrefix": prefix}])
        assert new_entry(schema.collections[0], "posts", title="Fog", now=NOW).path == f"posts/{path}"
        assert len(schema.problems) == (prefix == "note")


class TestFields:
    def test_draft_field_of_type_choice_has_its_values(self) -> None:
        draft = {"type": "choice", "name": "state", "choices": ["draft", "live"]}
        field = only_field({"name": "state", "type": "draft"}, content_draftField=draft)
        assert (str(field.type), field.options) == ("select", ("draft", "live"))

    def test_single_value_may_be_a_text(self) -> None:
        schema = read([{"name": "tags", "type": "tags", "singleValueAsString": True, "taxonomyLimit": 2}])
        for value in ("a", ["a", "b"]):
            assert errors(schema, "posts/a.md", {"tags": value}) == []
        assert errors(schema, "posts/a.md", {"tags": ["a", "b", "c"]})
        assert errors(read([{"name": "tags", "type": "tags"}]), "posts/a.md", {"tags": "a"})

    def test_fields_of_a_group_replace_a_collection_of_fields(self) -> None:
        groups = [{"id": "seo", "fields": [{"name": "robots", "type": "string"}]}]
        collected = {"name": "seo", "type": "fieldCollection", "fieldGroup": "seo"}
        assert only_field(collected, taxonomy_fieldGroups=groups).name == "robots"
        nested = only_field({"name": "meta", "type": "fields", "fields": [collected]}, taxonomy_fieldGroups=groups)
        assert [inner.name for inner in nested.fields[0].fields] == ["robots"]

    def test_items_of_a_block_have_the_fields_of_their_group(self) -> None:
        groups = [{"id": name, "fields": [{"name": name, "type": "number", "required": True}]} for name in ("a", "b")]
        block = {"name": "blocks", "type": "block", "fieldGroup": ["a", "b"]}
        schema = read([block], taxonomy_fieldGroups=groups)
        assert (
            errors(schema, "posts/a.md", {"blocks": [{"fieldGroup": "a", "a": 1}, {"fieldGroup": "b", "b": 2}]}) == []
        )
        invalid = [{"fieldGroup": "a", "b": 2}, {"fieldGroup": "c"}]
        assert errors(schema, "posts/a.md", {"blocks": invalid}) == [
            "/blocks/0/a: This field is required",
            "/blocks/1/fieldGroup: This must be one of %(options)s",
        ]

    def test_date_has_the_format_of_the_file(self) -> None:
        schema = read([{"name": "date", "type": "datetime"}], taxonomy_dateFormat="dd.MM.yyyy")
        assert errors(schema, "posts/a.md", {"date": "03.11.2026"}) == []
        assert errors(schema, "posts/a.md", {"date": "2026-11-03"}) == []
        assert errors(schema, "posts/a.md", {"date": "3rd of May"})
        assert 'date: "03.11.2026"' in new_entry(schema.collections[0], "posts", title="A", now=NOW).text

    def test_number_has_limits_and_a_hint(self) -> None:
        number = {"name": "n", "type": "number", "numberOptions": {"min": 1, "max": 5}, "description": "Stars"}
        schema = read([number])
        assert schema.collections[0].fields[0].hint == "Stars"
        assert [bool(errors(schema, "posts/a.md", {"n": value})) for value in (0, 1, 5, 6)] == [
            True,
            False,
            False,
            True,
        ]

    def test_relation_names_the_folder_of_its_content_type(self) -> None:
        relation = {"name": "post", "type": "contentRelationship", "contentTypeName": "default"}
        assert only_field(relation).collection == "Posts"

    @pytest.mark.parametrize(
        "field",
        [
            {"type": "block", "fieldGroup": "none"},
            {"type": "fields", "fields": [{"name": "b", "type": "fieldCollection", "fieldGroup": "none"}]},
            {"type": "choice"},
            {"type": "datetime", "dateFormat": "QQQ"},
            {"type": "contentRelationship", "contentTypeName": "none"},
        ],
    )
    def test_unsupported_field_is_a_problem(self, field: dict[str, Any]) -> None:
        folders = [FOLDERS[0] | {"contentTypes": ["default"]}]
        (problem,) = read([{"name": "a"} | field], content_pageFolders=folders).problems
        assert problem.pointer.startswith("/frontMatter.taxonomy.contentTypes/0/fields/0/")


class TestReadFrontMatterCms:
    def test_front_matter_cms_fields_have_types(self) -> None:
        schema = sample(SourceKind.FRONT_MATTER)
        assert types(schema) == {
            "title": "string",
            "date": "datetime",
            "kind": "select",
            "tags": "list",
            "images": "list",
            "seo": "object",
        }
        assert [collection.folder for collection in schema.collections] == ["content/posts", "content", "content"]
        assert types(schema, 1)["draft"] == "boolean"

    @pytest.mark.parametrize("path", ["content/{{year}}/{{month}}", "content/*/posts", "content/y-{{year}}"])
    def test_folder_ends_before_a_placeholder(self, path: str) -> None:
        data = json.dumps({PAGE_FOLDERS: [{"title": "Posts", "path": f"[[workspace]]/{path}"}]}).encode()
        schema = read_front_matter_cms("frontmatter.json", data)
        assert schema is not None
        assert [each.folder for each in schema.collections] == ["content"]

    def test_file_without_page_folders_has_no_schema(self) -> None:
        data = b'{"frontMatter.taxonomy.contentTypes": [{"name": "post", "fields": []}]}'
        assert read_front_matter_cms("frontmatter.json", data) is None
