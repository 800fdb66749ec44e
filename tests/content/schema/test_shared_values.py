"""Fields of Decap CMS and Sveltia CMS that have one value in all languages."""

import json
from typing import Any

import pytest

from app.content.schema.decap import read_decap
from app.content.schema.model import ContentSchema
from app.content.schema.shared_values import has_shared_values, shared_values

FIELDS = (
    {"name": "title", "i18n": True},
    {"name": "cover", "widget": "image", "i18n": "duplicate"},
    {"name": "date", "widget": "datetime", "i18n": "duplicate", "required": False},
    {
        "name": "place",
        "widget": "object",
        "i18n": True,
        "fields": [{"name": "name", "i18n": True}, {"name": "zoom", "widget": "number", "i18n": "duplicate"}],
    },
)
ORIGINAL = b"---\ntitle: Fog\ncover: /a.png\ndate: 2026-05-27\nplace: {name: Pier, zoom: 7}\n---\nText\n"


def schema_of(structure: str, *, omits: bool = False, **properties: Any) -> ContentSchema:
    collection = {"name": "posts", "folder": "posts", "fields": FIELDS, "i18n": True} | properties
    i18n = {"locales": ["de", "en", "fr"], "default_locale": "en", "structure": structure}
    i18n |= {"omit_default_locale_from_file_path": omits}
    schema = read_decap("admin/config.yml", json.dumps({"collections": [collection], "i18n": i18n}).encode())
    assert schema is not None
    return schema


@pytest.mark.parametrize(
    ("structure", "omits", "path", "other"),
    [
        ("multiple_folders", False, "posts/en/a.md", "posts/de/a.md"),
        ("multiple_folders", True, "posts/a.md", "posts/de/a.md"),
        ("multiple_files", False, "posts/a.en.md", "posts/a.de.md"),
        ("multiple_files", True, "posts/a.md", "posts/a.de.md"),
        ("multiple_root_folders", False, "en/posts/a.md", "de/posts/a.md"),
        ("multiple_root_folders", True, "posts/a.md", "de/posts/a.md"),
    ],
)
def test_values_belong_to_the_files_of_other_languages(structure: str, omits: bool, path: str, other: str) -> None:
    schema = schema_of(structure, omits=omits)
    assert has_shared_values(schema)
    shared = shared_values(schema, path, ORIGINAL)
    assert shared is not None
    assert {other, other.replace("de/", "fr/").replace(".de.", ".fr.")} <= set(shared.paths)
    assert path not in shared.paths
    assert shared_values(schema, other, ORIGINAL) is None


def test_file_of_a_collection_of_files_has_those_of_its_languages() -> None:
    files = [{"name": "about", "file": "about.md", "i18n": {"structure": "multiple_files"}, "fields": FIELDS}]
    schema = schema_of("multiple_files", files=files, folder=None)
    shared = shared_values(schema, "about.en.md", ORIGINAL)
    assert shared is not None
    assert set(shared.paths) == {"about.de.md", "about.fr.md"}


def test_schema_without_such_fields_has_no_shared_values() -> None:
    schema = schema_of("multiple_files", fields=[{"name": "title", "i18n": True}])
    assert not has_shared_values(schema)
    assert shared_values(schema, "posts/a.en.md", ORIGINAL) is None
    assert shared_values(schema_of("multiple_files"), "posts/a.en.md", b"---\ntitle: [\n---\n") is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "---\r\ntitle: 'Nebel'   # de\r\ncover: /old.png\r\ndate: 2026-01-01\r\nplace:\r\n  name: Steg\r\n"
            "  zoom: 5\r\nextra: 1\r\n---\r\nText\r\n",
            "---\r\ntitle: 'Nebel'   # de\r\ncover: /a.png\r\ndate: 2026-05-27\r\nplace:\r\n  name: Steg\r\n"
            "  zoom: 7\r\nextra: 1\r\n---\r\nText\r\n",
        ),
        (
            '+++\ntitle = "Nebel"\ncover = "/old.png" # c\ndate = 2026-01-01\n[place]\nname = "Steg"\nzoom = 5\n+++\nT',
            '+++\ntitle = "Nebel"\ncover = "/a.png" # c\ndate = 2026-05-27\n[place]\nname = "Steg"\nzoom = 7\n+++\nT',
        ),
        (
            "---\ntitle: Nebel\ncover: /a.png\ndate: 2026-05-27\n---\n",
            "---\ntitle: Nebel\ncover: /a.png\ndate: 2026-05-27\n---\n",
        ),
        ("---\ntitle: [\n---\n", "---\ntitle: [\n---\n"),
        ("no front matter", "no front matter"),
    ],
)
def test_translation_receives_the_values_and_keeps_other_bytes(before: str, after: str) -> None:
    shared = shared_values(schema_of("multiple_files"), "posts/a.en.md", ORIGINAL)
    assert shared is not None
    assert shared.written("posts/a.de.md", before.encode()).decode() == after


def test_value_that_the_original_lacks_is_removed() -> None:
    original = b"---\ntitle: Fog\ncover: /a.png\n---\n"
    shared = shared_values(schema_of("multiple_files"), "posts/a.en.md", original)
    assert shared is not None
    translation = b"---\ntitle: Nebel\ncover: /b.png\ndate: 2026-01-01\nplace: {zoom: 1}\n---\n"
    written = shared.written("posts/a.de.md", translation)
    assert written == b"---\ntitle: Nebel\ncover: /a.png\nplace: {zoom: 1}\n---\n"


def test_data_files_share_values() -> None:
    schema = schema_of("multiple_files", extension="yml", format="yml")
    shared = shared_values(schema, "posts/a.en.yml", b"title: Fog\ncover: /a.png\n")
    assert shared is not None
    written = shared.written("posts/a.de.yml", b"# Deutsch\ntitle: Nebel\ncover: /b.png\n")
    assert written == b"# Deutsch\ntitle: Nebel\ncover: /a.png\n"
