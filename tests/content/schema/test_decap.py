"""Collections of `config.yml` of Decap CMS, Netlify CMS and Sveltia CMS."""

import pytest

from app.content.schema.decap import read_decap
from app.content.schema.model import SourceKind
from tests.content.schema.samples import DECAP, sample, types

TRANSLATED = b"""\
i18n: {structure: single_file, locales: [en, el], defaultLocale: el}
collections:
  - {name: blog, folder: blog, i18n: true, fields: [{name: title, i18n: true}]}
  - {name: notes, folder: notes, fields: [{name: title}]}
  - {name: docs, folder: docs, i18n: {structure: multiple_folders}, fields: [{name: title}]}
  - {name: pages, i18n: true, files: [{name: about, file: about.md, i18n: true, fields: [{name: text}]}]}
"""


class TestReadDecap:
    def test_decap_widgets_have_types(self) -> None:
        schema = sample(SourceKind.DECAP)
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

    @pytest.mark.parametrize("bomb", [b"a: *b", b"[" * 5_000, b"{" * 5_000])
    def test_nested_documents_are_problems(self, bomb: bytes) -> None:
        schema = read_decap("admin/config.yml", DECAP[:20] + bomb)
        assert schema is not None
        assert schema.problems

    def test_default_of_another_type_is_dropped(self) -> None:
        fields = b"[{name: a, widget: datetime, default: ''}, {name: b, default: true}, {name: c, widget: number, default: 1}]"
        schema = read_decap("admin/config.yml", b"collections: [{name: x, folder: x, fields: %s}]" % fields)
        assert schema is not None
        assert [field.default for field in schema.collections[0].fields] == [None, None, 1]

    def test_file_without_collections_has_no_schema(self) -> None:
        assert read_decap("admin/config.yml", b"backend: {name: github}\n") is None

    def test_translations_are_objects_or_folders(self) -> None:
        schema = read_decap("admin/config.yml", TRANSLATED)
        assert schema is not None
        assert [list(types(schema, number).values()) for number in range(4)] == [
            ["object", "object"],
            ["string"],
            ["string"],
            ["object", "object"],
        ]
        first, second = schema.collections[0].fields
        assert (first.name, first.fields[0].required) == ("el", True)
        assert (second.name, second.fields[0].required) == ("en", False)
        assert [each.pattern for each in schema.collections] == ["*.md", "*.md", "**/*.md", "about.md"]
