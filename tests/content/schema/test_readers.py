"""Tests of the readers of schema files: collections and fields of each format, and problems of mutated files."""

import json
import os
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from app.content.schema.document import SchemaDocument
from app.content.schema.model import ContentSchema, SourceKind
from app.content.schema.schema_readers import READERS
from app.content.schema.validation import validate
from tests.content.schema.mutations import VALUES, mutated
from tests.content.schema.samples import DECAP, GALLEY, SAMPLES

DOCS = Path(__file__).parents[3] / "docs"
MUTATIONS = 1_000 if os.environ.get("GALLEY_LONG") else 100


def read(kind: SourceKind) -> ContentSchema:
    schema = READERS[kind](*SAMPLES[kind])
    assert schema is not None
    assert schema.problems == ()
    return schema


def types(schema: ContentSchema, number: int = 0) -> dict[str, str]:
    return {field.name: str(field.type) for field in schema.collections[number].fields}


class TestReaders:
    def test_galley_file_collection_equals_its_source(self) -> None:
        (collection,) = read(SourceKind.GALLEY).to_dict()["collections"]
        source = yaml.safe_load(GALLEY)["collections"][0]
        assert collection == source | {
            "pattern": "**/*.md",
            "template": source["template"] | {"values": {"title": "New", "draft": True}},
        }

    def test_galley_file_fits_its_json_schema(self) -> None:
        schema = json.loads((DOCS / "galley.schema.json").read_text())
        validator = jsonschema_rs.Draft202012Validator(schema)
        assert [error.message for error in validator.iter_errors(yaml.safe_load(GALLEY))] == []
        for wrong in ({"folder": ""}, {"name": "a", "folder": "", "fields": [{"name": "b", "type": "select"}]}):
            assert list(validator.iter_errors({"collections": [wrong]}))

    def test_file_with_previews_only_has_no_schema(self) -> None:
        assert READERS[SourceKind.GALLEY](".galley.yml", b"preview: {port: 4000}\n") is None

    def test_decap_widgets_have_types(self) -> None:
        schema = read(SourceKind.DECAP)
        blog, site = schema.collections
        assert types(schema) == {
            "title": "string",
            "subtitle": "string",
            "date": "date",
            "kind": "select",
            "tags": "list",
            "gallery": "list",
            "names": "list",
            "author": "relation",
        }
        assert (blog.folder, blog.pattern) == ("content/blog", "*.md")
        assert blog.template is not None
        assert blog.template.path == "{{year}}-{{slug}}.md"
        assert [field.required for field in blog.fields[:2]] == [True, False]
        assert blog.fields[3].options == ("a", "b")
        assert (site.name, site.folder, site.pattern) == ("settings.site", "data", "site.json")
        assert types(schema, 1) == {"title": "string", "body": "text"}

    def test_pages_cms_fields_have_types(self) -> None:
        schema = read(SourceKind.PAGES_CMS)
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
            "{{year}}-{{month}}-{{slug}}",
        )
        assert posts.fields[4].fields[0].name == "noindex"
        assert (site.folder, site.pattern, types(schema, 1)) == ("data", "site.yml", {"body": "text"})

    def test_front_matter_cms_fields_have_types(self) -> None:
        schema = read(SourceKind.FRONT_MATTER)
        assert types(schema) == {
            "title": "string",
            "date": "datetime",
            "kind": "select",
            "tags": "list",
            "images": "list",
            "seo": "object",
        }
        assert [collection.folder for collection in schema.collections] == ["content/posts", "content"]
        assert types(schema, 1)["draft"] == "boolean"

    def test_deep_and_wide_files_are_bounded(self) -> None:
        deep: dict[str, Any] = {"name": "a", "type": "string"}
        for _ in range(40):
            deep = {"name": "a", "type": "object", "fields": [deep]}
        wide = [{"name": f"f{n}", "type": "string"} for n in range(3_000)]
        for fields in ([deep], wide):
            data = json.dumps({"collections": [{"name": "c", "folder": "c", "fields": fields}]}).encode()
            schema = READERS[SourceKind.GALLEY](".galley.yml", data)
            assert schema is not None
            assert schema.problems
        assert SchemaDocument(".pages.yml", b"x" * 300_000).problems

    def test_mutated_files_never_raise(self) -> None:
        for kind, path, data in mutated(MUTATIONS, seed=int(os.environ.get("GALLEY_SEED", "7"))):
            schema = READERS[kind](path, data)
            if schema is None:
                continue
            json.dumps(schema.to_dict())
            for collection in schema.collections:
                for value in VALUES:
                    validate(schema, collection, {field.name: value for field in collection.fields})

    @pytest.mark.parametrize("bomb", [b"a: *b", b"[" * 5_000, b"{" * 5_000])
    def test_nested_documents_are_problems(self, bomb: bytes) -> None:
        schema = READERS[SourceKind.DECAP]("admin/config.yml", DECAP[:20] + bomb)
        assert schema is not None
        assert schema.problems
