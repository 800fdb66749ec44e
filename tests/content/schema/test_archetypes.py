"""Archetypes of Hugo: values, placeholders and text of new entries."""

from datetime import UTC, datetime

import pytest

from app.content.schema.archetypes import read_archetype, section_of, with_archetype
from app.content.schema.model import Collection, FieldType, SchemaField
from app.content.schema.new_entry import new_entry

POSTS = b"""\
---
title: "{{ replace .Name "-" " " | title }}"
date: {{ .Date }}
author: {{ site.Params.author }}
tags: []
---
Text
"""


class TestReadArchetype:
    def test_expressions_are_placeholders_or_null(self) -> None:
        archetype = read_archetype("archetypes/posts.md", POSTS)
        assert archetype.values == {"title": "{{title}}", "date": "{{date}}", "author": None, "tags": []}
        assert (archetype.section, archetype.body, archetype.problem) == ("posts", "Text\n", None)

    def test_body_with_another_expression_is_empty(self) -> None:
        assert read_archetype("archetypes/a.md", b"---\ntitle: a\n---\n{{ .Params.x }}\n").body == ""

    def test_front_matter_in_toml_stays_toml_in_a_new_entry(self) -> None:
        archetype = read_archetype("archetypes/a.md", b"+++\ndate = '{{ .Date }}'\n+++\nText\n")
        collection = with_archetype(Collection("posts", "posts", "*.md"), archetype)
        text = new_entry(collection, "posts", title="A", now=datetime(2026, 11, 3, tzinfo=UTC)).text
        assert text.startswith("+++\n")
        assert text.endswith("+++\n\nText\n")

    @pytest.mark.parametrize("data", [b"a\x00b", b"---\ntitle: [\n---\n"])
    def test_broken_archetype_has_a_problem(self, data: bytes) -> None:
        assert read_archetype("archetypes/a.md", data).problem

    def test_archetype_of_a_bundle_has_the_section_of_its_folder(self) -> None:
        assert [section_of(f"archetypes/{name}") for name in ("a.md", "a/index.md")] == ["a", "a"]


class TestWithArchetype:
    def test_fields_of_the_archetype_are_added_and_defaults_set(self) -> None:
        own = SchemaField("tags", FieldType.LIST)
        collection = with_archetype(
            Collection("posts", "posts", "*.md", (own,)), read_archetype("archetypes/posts.md", POSTS)
        )
        assert {field.name: (str(field.type), field.default) for field in collection.fields} == {
            "tags": ("list", []),
            "title": ("string", None),
            "date": ("datetime", None),
            "author": ("string", None),
        }
