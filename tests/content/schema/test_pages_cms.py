"""Collections of `.pages.yml`."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from app.content.data_text import ROOT
from app.content.schema.model import ContentSchema, FieldType, SchemaField, SourceKind
from app.content.schema.new_entry import new_entry
from app.content.schema.pages_cms import read_pages_cms
from app.content.schema.validation import collection_of, validate
from tests.content.schema.samples import sample, types


def read(content: str) -> ContentSchema:
    schema = read_pages_cms(".pages.yml", f"content: [{content}]".encode())
    assert schema is not None
    assert schema.problems == ()
    return schema


def read_fields(*fields: dict[str, Any], settings: dict[str, Any] | None = None, **properties: Any) -> ContentSchema:
    """Read a file with one collection and the settings."""
    collection = {"name": "posts", "type": "collection", "path": "posts", "fields": list(fields)} | properties
    schema = read_pages_cms(".pages.yml", json.dumps({"content": [collection]} | (settings or {})).encode())
    assert schema is not None
    return schema


def only_field(settings: dict[str, Any] | None = None, **properties: Any) -> SchemaField:
    schema = read_fields({"name": "a"} | properties, settings=settings)
    assert schema.problems == ()
    return schema.collections[0].fields[0]


def is_valid(value: Any, **properties: Any) -> bool:
    schema = read_fields({"name": "a"} | properties)
    return validate(schema, schema.collections[0], {"a": value}) == []


class TestFields:
    @pytest.mark.parametrize("kind", ["file", "image", "select"])
    @pytest.mark.parametrize("several", [{"list": True}, {"options": {"multiple": True}}])
    def test_several_values_are_a_list(self, kind: str, several: dict[str, Any]) -> None:
        assert is_valid(["/a.png", "/b.png"], type=kind, **several)
        assert not is_valid("/a.png", type=kind, **several)
        assert is_valid("/a.png", type=kind, options={"multiple": False})

    def test_number_of_values_is_limited(self) -> None:
        for several in ({"options": {"multiple": {"min": 1, "max": 2}}}, {"list": {"min": 1, "max": 2}}):
            assert [is_valid(["/a.png"] * n, type="file", **several) for n in (0, 1, 2, 3)] == [
                False,
                True,
                True,
                False,
            ]
        choices = {"values": ["a", "b"], "multiple": {"max": 1}}
        assert [is_valid(value, type="select", options=choices) for value in (["a"], ["a", "b"])] == [True, False]

    @pytest.mark.parametrize(
        ("options", "value"),
        [
            ({"format": "dd.MM.yyyy"}, "03.11.2026"),
            ({"format": "d MMMM yyyy, HH:mm", "time": True}, "3 November 2026, 08:05"),
            ({"format": "yyyy"}, 2026),
            ({"time": True}, "2026-11-03T08:05"),
        ],
    )
    def test_date_accepts_its_format(self, options: dict[str, Any], value: Any) -> None:
        assert is_valid(value, type="date", options=options)
        assert not is_valid("soon", type="date", options=options)

    def test_new_entry_writes_a_date_in_its_format(self) -> None:
        schema = read_fields({"name": "date", "type": "date", "options": {"format": "d. MMMM yyyy"}})
        now = datetime(2026, 11, 3, tzinfo=UTC)
        assert "date: 3. November 2026" in new_entry(schema.collections[0], "posts", title="A", now=now).text

    def test_block_has_the_fields_of_its_kind(self) -> None:
        components = {"hero": {"type": "object", "fields": [{"name": "title", "type": "string", "required": True}]}}
        block = {
            "name": "a",
            "type": "block",
            "list": True,
            "blocks": [{"name": "hero", "component": "hero"}, {"name": "gap"}],
        }
        for key, own in ((("_block"), {}), ("kind", {"blockKey": "kind"})):
            schema = read_fields(block | own, settings={"components": components})
            assert schema.problems == ()
            collection = schema.collections[0]
            values = [[{key: "hero", "title": "A"}, {key: "gap"}], [{key: "hero"}], [{key: "none"}], [{}]]
            counts = [len(validate(schema, collection, {"a": value})) for value in values]
            assert counts == [0, 1, 1, 1]

    def test_pattern_limits_and_hint_are_read(self) -> None:
        field = only_field(type="string", description="Code", pattern={"regex": "^[a-z]+$", "message": "Letters"})
        assert (field.hint, field.pattern, field.pattern_hint) == ("Code", "^[a-z]+$", "Letters")
        assert [is_valid(value, type="string", pattern="^a") for value in ("ab", "b")] == [True, False]
        assert [is_valid(value, type="number", options={"min": 1, "max": 2}) for value in (0, 1, 3)] == [
            False,
            True,
            False,
        ]
        assert [is_valid(value, type="text", options={"maxlength": 2}) for value in ("ab", "abc")] == [True, False]

    def test_media_folder_is_that_of_the_named_media(self) -> None:
        media = [
            {"name": "img", "input": "public/img", "output": "/img"},
            {"name": "pdf", "input": "files", "output": "/f"},
        ]
        (posts,) = read_fields(settings={"media": media}).collections
        assert (posts.media_folder, posts.public_folder) == ("public/img", "/img")
        field = only_field({"media": media}, type="file", options={"media": "pdf"})
        assert (field.media_folder, field.public_folder) == ("files", "/f")
        (posts,) = read_fields(settings={"media": "static"}).collections
        assert (posts.media_folder, posts.public_folder) == ("static", "/static")

    @pytest.mark.parametrize(
        ("properties", "pointer"),
        [
            ({"type": "carousel"}, "type"),
            ({"component": "none"}, "component"),
            ({"type": "block"}, "blocks"),
            ({"type": "date", "options": {"format": "QQ"}}, "options/format"),
            ({"type": "date", "options": {"min": "2026-01-01"}}, "options/min"),
            ({"type": "reference", "options": {"collection": "none"}}, "options/collection"),
            ({"type": "string", "pattern": "(?=a)"}, "pattern"),
            ({"type": "image", "options": {"media": "none"}}, "options/media"),
        ],
    )
    def test_unsupported_property_is_a_problem(self, properties: dict[str, Any], pointer: str) -> None:
        (problem,) = read_fields({"name": "a"} | properties).problems
        assert problem.pointer == f"/content/0/fields/0/{pointer}"


class TestCollections:
    def test_excluded_file_is_no_entry(self) -> None:
        schema = read_fields(exclude=["README.md"])
        assert [collection_of(schema, path) is None for path in ("posts/README.md", "posts/a.md")] == [True, False]

    def test_file_that_contains_a_list_has_one_field(self) -> None:
        schema = read_fields({"name": "x", "required": True}, type="file", path="data/a.yml", list={"min": 1})
        [entries] = schema.collections[0].fields
        assert (entries.name, entries.type, entries.minimum) == (ROOT, FieldType.LIST, 1)
        assert entries.item is not None
        assert [(field.name, field.required) for field in entries.item.fields] == [("x", True)]

    def test_list_in_a_file_of_another_type_is_a_problem(self) -> None:
        schema = read_fields(type="file", path="data/a.toml", list=True)
        assert (schema.collections, schema.problems[0].pointer) == ((), "/content/0/list")


class TestReadPagesCms:
    def test_pages_cms_fields_have_types(self) -> None:
        schema = sample(SourceKind.PAGES_CMS)
        posts, site = schema.collections
        assert types(schema) == {
            "title": "string",
            "at": "datetime",
            "tags": "list",
            "kind": "select",
            "seo": "object",
            "author": "relation",
        }
        assert (posts.pattern, posts.template.path if posts.template else "") == (
            "**/*.mdx",
            "{{year}}-{{month}}-{{slug}}.mdx",
        )
        assert posts.fields[4].fields[0].name == "noindex"
        assert (site.folder, site.pattern, types(schema, 1)) == ("data", "site.yml", {"body": "text"})

    def test_file_name_may_be_a_mapping_with_a_template(self) -> None:
        schema = read("{name: a, type: collection, path: a, filename: {template: '{slug}.json', field: false}}")
        template = schema.collections[0].template
        assert (schema.collections[0].pattern, template and template.path) == ("**/*.json", "{{slug}}.json")

    def test_entry_of_another_type_with_a_file_path_is_a_file(self) -> None:
        (page,) = read("{name: a, type: document, path: content/a.md}").collections
        assert (page.folder, page.pattern) == ("content", "a.md")

    def test_type_list_is_a_list(self) -> None:
        schema = read(
            "{name: a, type: file, path: a.yml, fields: [{name: x, type: list, fields: [{name: y}]}, {name: z, type: list}]}"
        )
        assert types(schema) == {"x": "list", "z": "list"}
        items = [field.item for field in schema.collections[0].fields]
        assert [str(item.type) for item in items if item is not None] == ["object", "string"]

    def test_empty_path_is_the_root(self) -> None:
        assert read("{name: a, type: collection, path: ''}").collections[0].folder == ""

    def test_file_without_content_has_no_schema(self) -> None:
        assert read_pages_cms(".pages.yml", b"media: public\n") is None


def test_new_entry_has_the_front_matter_of_its_collection() -> None:
    schema = read_fields({"name": "title", "type": "string"}, format="toml-frontmatter")
    text = new_entry(schema.collections[0], "posts", title="A", now=datetime(2026, 11, 3, tzinfo=UTC)).text
    assert text.startswith('+++\ntitle = "A"\n')
