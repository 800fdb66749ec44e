"""Collections of `config.yml` of Decap CMS, Netlify CMS and Sveltia CMS."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from app.content.schema.decap import read_decap
from app.content.schema.model import ContentSchema, SchemaField, SourceKind
from app.content.schema.new_entry import new_entry
from app.content.schema.validation import collection_of, validate
from tests.content.schema.samples import DECAP, sample, types

TRANSLATED = b"""\
i18n: {structure: single_file, locales: [en, el], defaultLocale: el}
collections:
  - {name: blog, folder: blog, i18n: true, fields: [{name: title, i18n: true}]}
  - {name: notes, folder: notes, fields: [{name: title}]}
  - {name: docs, folder: docs, i18n: {structure: multiple_folders}, fields: [{name: title}]}
  - {name: pages, i18n: true, files: [{name: about, file: about.md, i18n: true, fields: [{name: text}]}]}
"""


NOW = datetime(2026, 11, 3, 8, 5, tzinfo=UTC)
LOCALES = {"locales": ["en", "de"]}


def read(*fields: dict[str, Any], **properties: Any) -> ContentSchema:
    """Read a file with one collection. The setting `i18n` of the site is that of the parameter `site`."""
    site = properties.pop("site", {})
    collection = {"name": "posts", "folder": "posts", "fields": list(fields)} | properties
    schema = read_decap("admin/config.yml", json.dumps({"collections": [collection]} | site).encode())
    assert schema is not None
    return schema


def only_field(**properties: Any) -> SchemaField:
    schema = read({"name": "a"} | properties)
    assert schema.problems == ()
    return schema.collections[0].fields[0]


def is_valid(value: Any, **properties: Any) -> bool:
    schema = read({"name": "a"} | properties)
    return validate(schema, schema.collections[0], {"a": value}) == []


def required_of(schema: ContentSchema, path: str) -> dict[str, bool] | None:
    collection = collection_of(schema, path)
    return {field.name: field.required for field in collection.fields} if collection is not None else None


class TestFields:
    @pytest.mark.parametrize("widget", ["image", "file"])
    def test_number_of_several_files_is_limited(self, widget: str) -> None:
        shared = {"widget": widget, "multiple": True, "min": 1, "max": 2}
        assert [is_valid(["/a.png"] * n, **shared) for n in (0, 1, 2, 3)] == [False, True, True, False]

    def test_integer_has_no_fraction(self) -> None:
        whole = {"widget": "number", "value_type": "int", "max": 5}
        assert [is_valid(value, **whole) for value in (3, 3.5, 6)] == [True, False, False]
        assert is_valid(3.5, widget="number", value_type="float")
        assert only_field(name="a", **whole).integer

    @pytest.mark.parametrize(
        ("slug", "path"),
        [
            ("{{date | date('YYYY-MM')}}-{{slug}}", "2026-11-fog.md"),
            ("{{fields.date|date('YYYY')}}/{{title | upper}}", "2026/FOG.md"),
            ("{{slug | truncate(2)}}", "fo.md"),
            ("{{fields.none | default('x')}}-{{slug}}", "x-fog.md"),
        ],
    )
    def test_filters_of_the_slug_are_applied(self, slug: str, path: str) -> None:
        schema = read({"name": "title"}, slug=slug)
        assert schema.problems == ()
        assert new_entry(schema.collections[0], "posts", title="Fog", now=NOW).path == f"posts/{path}"

    @pytest.mark.parametrize("name", ["slug", "path"])
    def test_unknown_filter_of_the_slug_is_a_problem(self, name: str) -> None:
        for text in ("{{slug | reverse}}", "{{date | date('Q')}}", "{{date | date}}", "{{slug | }}"):
            problem = read({"name": "title"}, **{name: text}).problems[0]
            assert (problem.pointer, "filter" in problem.message or "format" in problem.message) == (
                f"/collections/0/{name}",
                True,
            )

    @pytest.mark.parametrize("widget", ["image", "file"])
    @pytest.mark.parametrize("several", [{"multiple": True}, {"media_library": {"config": {"multiple": True}}}])
    def test_several_files_are_a_list(self, widget: str, several: dict[str, Any]) -> None:
        assert is_valid(["/a.png", "/b.png"], widget=widget, **several)
        assert not is_valid("/a.png", widget=widget, **several)
        assert not is_valid(["/a.png"], widget=widget)

    @pytest.mark.parametrize(
        ("properties", "is_required"),
        [
            ({}, True),
            ({"required": False}, False),
            ({"widget": "hidden"}, False),
            ({"widget": "boolean"}, False),
            ({"widget": "boolean", "required": True}, True),
        ],
    )
    def test_value_is_required_by_default(self, properties: dict[str, Any], is_required: bool) -> None:
        assert only_field(**properties).required is is_required

    def test_code_is_an_object_or_a_text(self) -> None:
        assert is_valid({"code": "x = 1", "lang": "python"}, widget="code")
        assert is_valid({"text": "x", "kind": "y"}, widget="code", keys={"code": "text", "lang": "kind"})
        assert is_valid("x = 1", widget="code", output_code_only=True)
        assert not is_valid("x = 1", widget="code")

    @pytest.mark.parametrize(
        ("default", "kind"),
        [("a", "string"), (True, "boolean"), (3, "number"), (["a"], "list"), ({"b": 1}, "object"), (None, "mixed")],
    )
    def test_hidden_field_has_the_type_of_its_default(self, default: Any, kind: str) -> None:
        field = only_field(widget="hidden", default=default)
        assert (str(field.type), field.default, field.required) == (kind, default, False)
        assert is_valid(default, widget="hidden", default=default)

    @pytest.mark.parametrize(
        ("properties", "value"),
        [
            ({"format": "DD/MM/YYYY"}, "31/12/2026"),
            ({"date_format": "DD.MM.YYYY", "time_format": "HH:mm"}, "31.12.2026 10:30"),
            ({"type": "time"}, "10:30"),
            ({"date_format": False}, "10:30"),
            ({"format": "YYYY"}, 2026),
            ({"format": "X"}, 1793689509),
        ],
    )
    def test_date_accepts_its_format(self, properties: dict[str, Any], value: Any) -> None:
        assert is_valid(value, widget="datetime", **properties)
        assert not is_valid("soon", widget="datetime", format="DD/MM/YYYY")

    def test_new_entry_writes_a_date_in_its_format(self) -> None:
        schema = read({"name": "date", "widget": "datetime", "format": "DD/MM/YYYY"})
        assert "date: 03/11/2026" in new_entry(schema.collections[0], "posts", title="A", now=NOW).text

    def test_new_entry_has_the_front_matter_of_its_collection(self) -> None:
        fields = [{"name": "title", "widget": "string"}]
        schema = read(*fields, format="toml-frontmatter")
        text = new_entry(schema.collections[0], "posts", title="A", now=NOW).text
        assert text.startswith('+++\ntitle = "A"\n')

    def test_list_of_several_types_has_variants(self) -> None:
        quote = {"name": "quote", "label": "Quote", "widget": "object", "fields": [{"name": "text"}]}
        listed = {"widget": "list", "types": [quote, {"name": "line"}]}
        assert is_valid([{"type": "quote", "text": "A"}, {"type": "line"}], **listed)
        assert not is_valid([{"type": "quote"}], **listed)
        assert not is_valid([{"type": "other"}], **listed)
        assert is_valid([{"kind": "line"}], **listed, typeKey="kind")
        assert is_valid({"type": "line"}, **(listed | {"widget": "object"}))

    def test_limits_pattern_and_hint_are_read(self) -> None:
        field = only_field(widget="string", hint="Small letters", pattern=["^[a-z]+$", "Letters"], maxlength=4)
        assert (field.hint, field.pattern, field.pattern_hint, field.maximum) == (
            "Small letters",
            "^[a-z]+$",
            "Letters",
            4,
        )
        assert [is_valid(value, widget="number", min=1, max=3) for value in (0, 1, 3, 4)] == [False, True, True, False]
        assert [is_valid(["a"] * n, widget="list", min=1, max=2) for n in (1, 2, 3)] == [True, True, False]

    def test_relation_to_a_file_names_its_collection(self) -> None:
        site = {"collections": [
            {"name": "posts", "folder": "posts", "fields": [
                {"name": "a", "widget": "relation", "collection": "data", "file": "people", "value_field": "people.*.id", "display_fields": ["people.*.name", "{{slug}}"]}
            ]},
            {"name": "data", "files": [{"name": "people", "file": "data/people.yml", "fields": []}]},
        ]}  # fmt: skip
        schema = read(site=site)
        assert schema.problems == ()
        (field,) = schema.collections[0].fields
        assert (field.collection, field.value_field) == ("data.people", "people.*.id")
        assert field.title_field == "{{people.*.name}} {{slug}}"

    def test_media_folders_are_those_of_the_site_the_collection_or_the_field(self) -> None:
        site = {"media_folder": "static/img", "public_folder": "/img"}
        image = {"name": "a", "widget": "image", "media_folder": "{{media_folder}}/covers", "public_folder": "{{public_folder}}/covers"}  # fmt: skip
        (posts,) = read(image, site=site).collections
        assert (posts.media_folder, posts.public_folder) == ("static/img", "/img")
        assert (posts.fields[0].media_folder, posts.fields[0].public_folder) == ("static/img/covers", "/img/covers")
        folders = ["", "images", "/content/images"]
        own = [read(site=site, media_folder=folder).collections[0].media_folder for folder in folders]
        assert own == ["./", "./images", "content/images"]

    @pytest.mark.parametrize(
        ("properties", "pointer"),
        [
            ({"widget": "carousel"}, "widget"),
            ({"widget": "relation", "collection": "none"}, "collection"),
            ({"widget": "relation"}, "collection"),
            ({"pattern": ["(", "Broken"]}, "pattern"),
            ({"pattern": 5}, "pattern"),
            ({"widget": "datetime", "format": "gggg"}, "format"),
            ({"widget": "datetime", "min": "2026-01-01"}, "min"),
            ({"widget": "number", "min": "one"}, "min"),
            ({"widget": "select"}, "options"),
        ],
    )
    def test_unsupported_property_is_a_problem(self, properties: dict[str, Any], pointer: str) -> None:
        (problem,) = read({"name": "a"} | properties).problems
        assert problem.pointer == f"/collections/0/fields/0/{pointer}"


class TestTranslations:
    FIELDS = ({"name": "title", "i18n": True}, {"name": "order"})

    @pytest.mark.parametrize(
        ("structure", "default", "translation", "entry"),
        [
            ("multiple_folders", "posts/en/a.md", "posts/de/a.md", "posts/en/fog.md"),
            ("multiple_files", "posts/a.en.md", "posts/a.de.md", "posts/fog.en.md"),
            ("multiple_root_folders", "en/posts/a.md", "de/posts/a.md", "en/posts/fog.md"),
            ("multiple_folders_i18n_root", "en/posts/a.md", "de/posts/a.md", "en/posts/fog.md"),
        ],
    )
    def test_translation_requires_translated_fields(
        self, structure: str, default: str, translation: str, entry: str
    ) -> None:
        schema = read(*self.FIELDS, site={"i18n": LOCALES | {"structure": structure}}, i18n=True)
        assert required_of(schema, default) == {"title": True, "order": True}
        assert required_of(schema, translation) == {"title": True, "order": False}
        first = schema.collections[0]
        assert new_entry(first, first.folder, title="Fog", now=NOW).path == entry

    def test_default_locale_may_be_left_out_of_paths(self) -> None:
        i18n = LOCALES | {"structure": "multiple_root_folders", "omit_default_locale_from_file_path": True}
        schema = read(*self.FIELDS, site={"i18n": i18n}, i18n=True)
        assert [(each.name, each.folder) for each in schema.collections] == [
            ("posts", "posts"),
            ("posts.de", "de/posts"),
        ]
        i18n = LOCALES | {"structure": "multiple_files", "omit_default_locale_from_file_path": True}
        collection = read(*self.FIELDS, site={"i18n": i18n}, i18n=True).collections[0]
        assert new_entry(collection, "posts", title="Fog", now=NOW).path == "posts/fog.md"

    @pytest.mark.parametrize(
        ("i18n", "file", "paths"),
        [
            ({"structure": "multiple_folders"}, {"file": "c/a.md", "i18n": True}, ["c/en/a.md", "c/de/a.md"]),
            ({"structure": "multiple_files"}, {"file": "c/a.md", "i18n": True}, ["c/a.en.md", "c/a.de.md"]),
            ({"structure": "multiple_root_folders"}, {"file": "c/a.md", "i18n": True}, ["en/c/a.md", "de/c/a.md"]),
            ({}, {"file": "{{locale}}/a.md", "i18n": True}, ["en/a.md", "de/a.md"]),
            (
                {"omit_default_locale_from_file_path": True},
                {"file": "{{locale}}/a.md", "i18n": True},
                ["a.md", "de/a.md"],
            ),
            ({"structure": "multiple_folders"}, {"file": "c/a.md"}, ["c/a.md"]),
        ],
    )
    def test_file_is_translated_only_if_it_says_so(
        self, i18n: dict[str, Any], file: dict[str, Any], paths: list[str]
    ) -> None:
        files = [{"name": "a", "fields": list(self.FIELDS)} | file]
        schema = read(site={"i18n": LOCALES | i18n}, i18n=True, files=files)
        assert [f"{each.folder}/{each.pattern}".lstrip("/") for each in schema.collections] == paths
        assert [each.fields[1].required for each in schema.collections] == [True, False][: len(paths)]

    def test_translations_in_one_file_have_translated_fields_only(self) -> None:
        for structure, names in (("single_file", ["en", "de"]), ("single_file_default_root", ["title", "order", "de"])):
            fields = (
                read(*self.FIELDS, site={"i18n": LOCALES | {"structure": structure}}, i18n=True).collections[0].fields
            )
            assert [field.name for field in fields] == names
            assert [(field.name, field.required) for field in fields[-1].fields] == [("title", False)]

    def test_broken_settings_are_problems(self) -> None:
        (problem,) = read(site={"i18n": LOCALES | {"structure": "other"}}).problems
        assert problem.pointer == "/i18n/structure"
        (problem,) = read(files=[{"name": "a", "file": "{{locale}}/a.md"}]).problems
        assert problem.pointer == "/collections/0/files/0/file"


class TestCollections:
    @pytest.mark.parametrize(
        ("properties", "permitted"),
        [
            ({}, (False, True)),
            ({"create": True}, (True, True)),
            ({"create": False, "delete": False}, (False, False)),
        ],
    )
    def test_entries_are_created_and_deleted_as_the_configuration_permits(
        self, properties: dict[str, Any], permitted: tuple[bool, bool]
    ) -> None:
        [posts] = read({"name": "title"}, **properties).collections
        assert (posts.can_create, posts.can_delete) == permitted

    def test_permission_that_is_no_boolean_is_a_problem(self) -> None:
        schema = read({"name": "title"}, create="yes", delete=0)
        assert [problem.pointer for problem in schema.problems] == ["/collections/0/create", "/collections/0/delete"]
        assert (schema.collections[0].can_create, schema.collections[0].can_delete) == (False, True)

    def test_files_name_their_group_and_cannot_be_created_or_deleted(self) -> None:
        files = [{"name": "home", "label": "Home", "file": "a/home.md"}]
        groups = [{"name": "en", "label": "English", "files": files}, {"name": "de", "create": True, "files": files}]
        site = {"collections": groups, "singletons": [{"name": "home", "file": "b.md"}]}
        schema = read_decap("admin/config.yml", json.dumps(site).encode())
        assert schema is not None
        assert [(item.name, item.group, item.group_label) for item in schema.collections] == [
            ("en.home", "en", "English"),
            ("de.home", "de", None),
            ("singletons.home", "", None),
        ]
        assert not any(item.can_create or item.can_delete for item in schema.collections)
        assert {"group", "can_create"}.isdisjoint(schema.collections[0].to_dict())

    def test_value_of_the_filter_is_set_in_a_new_entry(self) -> None:
        (collection,) = read({"name": "title"}, filter={"field": "kind", "value": "news"}).collections
        assert "kind: news" in new_entry(collection, "posts", title="A", now=NOW).text
        (problem,) = read(filter={"field": "kind", "pattern": "^n"}).problems
        assert problem.pointer == "/collections/0/filter"

    @pytest.mark.parametrize(
        ("path", "data"),
        [
            (
                "config.json",
                b'{"backend": {}, "collections": [{"name": "a", "folder": "a", "fields": [{"name": "b"}]}]}',
            ),
            ("config.toml", b'[[collections]]\nname = "a"\nfolder = "a"\n[[collections.fields]]\nname = "b"\n'),
            ("config.yml", b"singletons: [{name: a, file: a, fields: [{name: b}]}]"),
        ],
    )
    def test_files_of_sveltia_are_read(self, path: str, data: bytes) -> None:
        schema = read_decap(f"public/admin/{path}", data)
        assert schema is not None
        assert schema.problems == ()
        assert types(schema) == {"b": "string"}


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
        assert [each.locales for each in schema.collections] == [(), (), ("el", "en"), ()]
        first, second = schema.collections[0].fields
        assert (first.name, first.fields[0].required) == ("el", True)
        assert (second.name, second.fields[0].required) == ("en", False)
        assert [each.pattern for each in schema.collections] == ["*.md", "*.md", "**/*.md", "about.md"]
