"""Tests of new entries from the templates of collections."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from app.content.schema.inferred import FieldCounts, FolderFiles, collection_from
from app.content.schema.model import Collection, ContentSchema, EntryTemplate, FieldType, SchemaField, SourceKind
from app.content.schema.new_entry import can_create_in, choices_for, collections_for, folder_for, new_entry
from app.content.slugs import SlugForm

NOW = datetime(2026, 11, 3, 8, 5, 9, 123, tzinfo=timezone(timedelta(hours=1)))


def collection(*fields: SchemaField, template: EntryTemplate | None = None) -> Collection:
    return Collection("posts", "content/posts", "**/*.md", fields, template=template)


def test_page_without_a_collection_has_title_date_and_draft_state() -> None:
    entry = new_entry(None, "notes", title="Low: tide", now=NOW)
    assert entry.path == "notes/low-tide.md"
    assert entry.text == '---\ntitle: "Low: tide"\ndate: 2026-11-03\ndraft: true\n---\n\n'


def test_values_and_text_of_the_template_are_used_in_the_order_of_the_fields() -> None:
    fields = (
        SchemaField("title", FieldType.STRING),
        SchemaField("date", FieldType.DATETIME),
        SchemaField("layout", FieldType.STRING, default="post"),
        SchemaField("tags", FieldType.LIST, default=["new"]),
        SchemaField("summary", FieldType.TEXT),
    )
    template = EntryTemplate(
        "{{year}}-{{month}}-{{day}}-{{slug}}.md",
        {"layout": "post", "tags": ["new"], "title": "{{title}}", "date": "{{date}}", "extra": "by {{title}}"},
        "\n# {{title}}\n",
    )
    entry = new_entry(collection(*fields, template=template), "content/posts", title="Fog", now=NOW)
    assert entry.path == "content/posts/2026-11-03-fog.md"
    assert entry.text == (
        "---\ntitle: Fog\ndate: 2026-11-03T08:05:09+01:00\nlayout: post\ntags:\n  - new\nextra: by Fog\n---\n\n# Fog\n"
    )


def test_collection_without_draft_and_date_gets_neither() -> None:
    entry = new_entry(collection(SchemaField("title", FieldType.STRING)), "content/posts", title="Fog", now=NOW)
    assert entry.text == "---\ntitle: Fog\n---\n\n"


@pytest.mark.parametrize(
    ("template", "path"),
    [
        ("{{fields.category}}/{{slug}}", "news/fog.md"),
        ("{{slug}}/index.md", "fog/index.md"),
        ("{{ hour }}{{minute}}{{second}}.md", "080509.md"),
        ("{{unknown}}.md", "fog.md"),
        ("{{title | upper}}.json", "FOG.json"),
    ],
)
def test_placeholders_of_the_path_are_replaced(template: str, path: str) -> None:
    made = collection(template=EntryTemplate(template, {"category": "news"}))
    assert new_entry(made, "content/posts", title="Fog", now=NOW).path == f"content/posts/{path}"


@pytest.mark.parametrize(
    ("files", "path"),
    [
        (["a.md", "b.md"], "fog.md"),
        (["a/index.md", "b/index.md"], "fog/index.md"),
        (["2024/a.md", "2025/b.md"], "2026/fog.md"),
        (["2024/a/index.md", "2025/b/index.md", "_index.md"], "2026/fog/index.md"),
        (["2024/01/a.md", "2025/12/b.md"], "2026/11/fog.md"),
        (["2024-01-02-a/index.md", "2025-01-02-b/index.md"], "2026-11-03-fog/index.md"),
        (["posts/a.md", "posts/b.md"], "posts/fog.md"),
        (["north/a.md", "south/b.md"], "fog.md"),
    ],
)
def test_entry_is_created_where_the_other_entries_of_an_inferred_collection_are(files: list[str], path: str) -> None:
    counted = FolderFiles("content/blog")
    for file in files:
        counted.add(f"content/blog/{file}")
    made = collection_from(counted, FieldCounts({}, {}))
    assert new_entry(made, "content/blog", title="Fog", now=NOW).path == f"content/blog/{path}"


def test_entry_in_a_folder_of_the_collection_has_no_other_folder() -> None:
    made = collection(template=EntryTemplate("{{year}}/{{slug}}/index.md"))
    assert new_entry(made, "content/posts", title="Fog", now=NOW).path == "content/posts/2026/fog/index.md"
    assert new_entry(made, "content/posts/2025", title="Fog", now=NOW).path == "content/posts/2025/fog/index.md"


@pytest.mark.parametrize(
    ("template", "name", "path"),
    [
        ("{{slug}}/index.md", "start.md", "start.md"),
        ("{{slug}}/index.md", "old/start", "old/start.md"),
        ("{{slug}}/index.md", "Low tide", "low-tide/index.md"),
        ("{{year}}-{{slug}}.md", "v1.2", "2026-v1-2.md"),
        ("{{title}}.md", "Low tide", "low-tide.md"),
        ("{{year}}.md", "tide", "tide.md"),
    ],
)
def test_entered_address_replaces_that_from_the_title_and_a_file_name_the_template(
    template: str, name: str, path: str
) -> None:
    made = collection(template=EntryTemplate(template))
    assert new_entry(made, "", title="Fog", now=NOW, name=name).path == path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{\n  "title": "Fog",\n  "order": 1\n}\n'),
        ("a.yaml", "title: Fog\norder: 1\n"),
        ("a.txt", "Text\n"),
    ],
)
def test_data_file_has_the_notation_of_its_ending(name: str, text: str) -> None:
    made = collection(
        SchemaField("title", FieldType.STRING), template=EntryTemplate("{{slug}}.json", {"order": 1}, "Text\n")
    )
    assert new_entry(made, "", title="Fog", now=NOW, name=name).text == text


@pytest.mark.parametrize(
    ("form", "path"),
    [
        (SlugForm.UNICODE, "content/posts/2026-über-हिन्दी.md"),
        (SlugForm.UNACCENTED, "content/posts/2026-uber-हिन्दी.md"),
        (SlugForm.ASCII, "content/posts/2026-uber-hindi.md"),
    ],
)
def test_name_has_the_form_of_the_template(form: SlugForm, path: str) -> None:
    made = collection(template=EntryTemplate("{{year}}-{{slug}}.md", slug=form))
    assert new_entry(made, "content/posts", title="Über हिन्दी!", now=NOW).path == path


def test_collections_of_a_folder_accept_entries_and_start_with_the_longest_folder() -> None:
    def make(name: str, folder: str, pattern: str) -> Collection:
        return Collection(name, folder, pattern)

    schema = ContentSchema(
        SourceKind.GALLEY,
        None,
        (
            make("about", "content/posts", "about.md"),
            make("content", "content", "**/*.md"),
            make("posts", "content/posts", "*.md"),
            make("notes", "content/posts", "*.txt"),
            make("guides", "docs/guides", "*.md"),
        ),
    )
    folders = ("content/posts", "content/posts/a", "docs", "docs/guides/a", "")
    names = {folder: [one.name for one in collections_for(schema, folder)] for folder in folders}
    assert names == {
        "content/posts": ["posts", "notes", "content"],
        "content/posts/a": ["content"],
        "docs": ["guides"],
        "docs/guides/a": [],
        "": ["content", "posts", "notes", "guides"],
    }
    [guides] = collections_for(schema, "docs")
    assert [folder_for(guides, "docs"), folder_for(guides, "docs/guides"), folder_for(None, "a")] == [
        "docs/guides",
        "docs/guides",
        "a",
    ]


@pytest.mark.parametrize(
    ("folder", "can_create"),
    [("content", True), ("content/notes", False), ("content/notes/a", True), ("content/posts", True), ("", True)],
)
def test_new_entries_are_permitted_by_the_collection_with_the_longest_folder(folder: str, can_create: bool) -> None:
    collections = (
        Collection("content", "content", "**/*.md"),
        Collection("notes", "content/notes", "*.md", can_create=False),
        Collection("posts", "content/posts", "*.md", can_create=False),
        Collection("essays", "content/posts", "*.md"),
        Collection("about", "content/posts", "about.md", can_create=False),
    )
    schema = ContentSchema(SourceKind.DECAP, None, collections)
    assert can_create_in(schema, folder) is can_create
    assert not {"notes", "about"} & {choice.name for choice in choices_for(schema, folder, "notes").collections}


@pytest.mark.parametrize(
    ("folder", "name", "names", "can_have_none"),
    [
        ("", "posts", ["posts"], False),
        ("docs", "posts", ["notes"], True),
        ("content/posts", None, ["posts"], False),
        ("content", None, ["posts"], True),
    ],
)
def test_choices_are_the_named_collection_or_those_of_the_folder(
    folder: str, name: str | None, names: list[str], can_have_none: bool
) -> None:
    collections = (Collection("posts", "content/posts", "*.md"), Collection("notes", "docs/notes", "*.md"))
    choices = choices_for(ContentSchema(SourceKind.GALLEY, None, collections), folder, name)
    assert ([one.name for one in choices.collections], choices.can_have_none) == (names, can_have_none)
    chosen = choices.chosen("unknown")
    assert chosen is (None if can_have_none else choices.collections[0])
    assert choices.chosen(names[0]) is choices.collections[0]


def test_time_is_that_of_the_user() -> None:
    made = collection(SchemaField("date", FieldType.DATETIME))
    assert "2026-11-03T07:05:09+00:00" in new_entry(made, "", title="A", now=NOW.astimezone(UTC)).text
